import warnings, sys
warnings.warn("deprecated", DeprecationWarning)
print(sys.warnoptions)
