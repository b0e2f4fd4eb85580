import warnings
def old():
    warnings.warn("old", DeprecationWarning, stacklevel=2)
old()
warnings.warn("top", stacklevel=2)
warnings.warn("deep", stacklevel=5)
warnings.warn("user")
warnings.warn("hidden", ImportWarning)
print(len(warnings.filters), warnings.filters)
