import numpy as np
a = np.arange(250000, dtype=float).reshape(500, 500)
print(a.dot(a.T).trace(), np.linalg.det(np.eye(3)), np.random.RandomState(0).rand(3))
np.random.seed(1); print(np.random.rand(2))
