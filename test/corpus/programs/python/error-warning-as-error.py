import warnings
warnings.simplefilter("error")
warnings.warn("boom", RuntimeWarning)
