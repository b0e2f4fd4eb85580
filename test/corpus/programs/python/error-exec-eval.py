code = compile("def bad():\n    return undefined_name\nbad()", "<generated>", "exec")
exec(code)
