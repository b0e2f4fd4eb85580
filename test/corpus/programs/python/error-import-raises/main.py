import pkg.sub
