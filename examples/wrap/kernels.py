"""Builds and runs some kernels by pyopencl: kernels.py [NUMBER OF KERNELS]"""

import sys
import time

import numpy as np
import pyopencl as cl

SOURCE = """
__kernel void k%d(__global float *a) {
  const int i = get_global_id(0);
  float sum = 0;
  for (int j = 0; j < %d; j++) sum += sin(a[i] * j) * cos(a[i] + j);
  a[i] = sum * 0 + %d;
}
"""

count = int(sys.argv[1]) if len(sys.argv) > 1 else 20
start = time.time()
platform = [p for p in cl.get_platforms() if "Portable" in p.name][0]
context = cl.Context(platform.get_devices())
queue = cl.CommandQueue(context)
array = np.zeros(1024, dtype=np.float32)
flags = cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR
buffer = cl.Buffer(context, flags, hostbuf=array)
for i in range(count):
    program = cl.Program(context, SOURCE % (i, i + 3, i)).build()
    getattr(program, "k%d" % i)(queue, (1024,), None, buffer)
cl.enqueue_copy(queue, array, buffer)
assert array[0] == count - 1, array
print("%d kernels in %.2f s" % (count, time.time() - start))
