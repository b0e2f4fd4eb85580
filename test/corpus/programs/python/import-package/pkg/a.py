from . import b
value = b.name + "!"
