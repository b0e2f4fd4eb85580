"""Compiles a Docker seccomp profile (stdin, JSON) with the system's libseccomp, as runc does, and writes the
BPF to stdout. Used by profile.test.ts. Usage: libseccomp-oracle.py AUDIT_ARCH"""

import ctypes
import json
import os
import sys

lib = ctypes.CDLL("libseccomp.so.2")
lib.seccomp_init.restype = ctypes.c_void_p
lib.seccomp_arch_add.argtypes = lib.seccomp_arch_remove.argtypes = [ctypes.c_void_p, ctypes.c_uint32]
lib.seccomp_rule_add_array.argtypes = [
    ctypes.c_void_p, ctypes.c_uint32, ctypes.c_int, ctypes.c_uint, ctypes.c_void_p
]
lib.seccomp_export_bpf.argtypes = [ctypes.c_void_p, ctypes.c_int]


class Condition(ctypes.Structure):
    _fields_ = [
        ("arg", ctypes.c_uint), ("op", ctypes.c_int), ("value", ctypes.c_uint64), ("value_two", ctypes.c_uint64)
    ]


OPERATORS = ["", "NE", "LT", "LE", "EQ", "GE", "GT", "MASKED_EQ"]


def action(name, errno):
    return {"SCMP_ACT_ALLOW": 0x7FFF0000, "SCMP_ACT_ERRNO": 0x50000 | errno}[name]


def check(code, what):
    if code < 0:
        sys.exit(f"libseccomp: {what}: {os.strerror(-code)}")


profile = json.load(sys.stdin)
context = lib.seccomp_init(action(profile["defaultAction"], profile["defaultErrnoRet"]))
wanted = int(sys.argv[1])
if lib.seccomp_arch_native() != wanted:
    check(lib.seccomp_arch_remove(context, 0), "arch_remove")
    check(lib.seccomp_arch_add(context, wanted), "arch_add")
for rule in profile["syscalls"]:
    args = [
        Condition(a["index"], OPERATORS.index(a["op"].removeprefix("SCMP_CMP_")), a["value"], a.get("valueTwo", 0))
        for a in rule.get("args", [])
    ]
    for name in rule["names"]:
        number = lib.seccomp_syscall_resolve_name(name.encode())
        if number == -1:
            sys.exit(f"libseccomp does not know {name}")
        verdict = action(rule["action"], rule.get("errnoRet", 1))
        array = (Condition * max(1, len(args)))(*args)
        check(lib.seccomp_rule_add_array(context, verdict, number, len(args), array), name)
check(lib.seccomp_export_bpf(context, 1), "export")
