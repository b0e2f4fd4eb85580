import weakref
class O: pass
o = O()
f = weakref.finalize(o, print, "finalized at exit")
g = weakref.finalize(O(), print, "finalized now")
h = weakref.finalize(o, print, "not at exit"); h.atexit = False
