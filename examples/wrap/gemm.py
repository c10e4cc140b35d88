"""Multiplies two matrices by CLBlast, Debian's libclblast1: its first GEMM compiles kernels."""

import ctypes
import time

import numpy as np
import pyopencl as cl

N = 64
ROW_MAJOR, NOT_TRANSPOSED = 101, 111

platform = [p for p in cl.get_platforms() if "Portable" in p.name][0]
context = cl.Context(platform.get_devices())
queue = cl.CommandQueue(context)
ones = np.ones((N, N), np.float32)
flags = cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR
a, b, c = (cl.Buffer(context, flags, hostbuf=ones) for _ in range(3))
clblast = ctypes.CDLL("libclblast.so.1")
size, zero = ctypes.c_size_t(N), ctypes.c_size_t(0)
start = time.time()
status = clblast.CLBlastSgemm(
    ROW_MAJOR, NOT_TRANSPOSED, NOT_TRANSPOSED, size, size, size,
    ctypes.c_float(1), ctypes.c_void_p(a.int_ptr), zero, size,
    ctypes.c_void_p(b.int_ptr), zero, size,
    ctypes.c_float(0), ctypes.c_void_p(c.int_ptr), zero, size,
    ctypes.byref(ctypes.c_void_p(queue.int_ptr)), None)
queue.finish()
took = time.time() - start
result = np.empty_like(ones)
cl.enqueue_copy(queue, result, c)
assert status == 0 and result[0, 0] == N, (status, result)
print("first GEMM in %.2f s" % took)
