"""Compiles some functions by Numba on the processor."""

import time

import numba
import numpy as np


@numba.njit(cache=True)
def pairs(a, b):
    total = 0.0
    for i in range(a.shape[0]):
        for j in range(b.shape[0]):
            total += a[i] * b[j] if a[i] > b[j] else np.sin(a[i])
    return total


@numba.njit(cache=True)
def sums(a):
    return np.sort(a)[::-1].cumsum()


start = time.time()
numbers = np.ones(100)
pairs(numbers, numbers)
pairs(numbers.astype(np.float32), numbers)
sums(numbers)
print("3 functions in %.2f s" % (time.time() - start))
