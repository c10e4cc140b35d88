"""Compiles some kernels by Triton for a GPU, which need not be there."""

import time

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget


@triton.jit
def kernel(x, y, COUNT: tl.constexpr):
    at = tl.program_id(0) * 128 + tl.arange(0, 128)
    value = tl.load(x + at)
    for i in tl.static_range(COUNT):
        value = tl.exp(value * i) + tl.sum(value, 0)
    tl.store(y + at, value)


start = time.time()
for count in range(20, 30):
    source = triton.compiler.ASTSource(
        kernel, {"x": "*fp32", "y": "*fp32", "COUNT": "constexpr"}, {"COUNT": count})
    triton.compile(source, target=GPUTarget("cuda", 80, 32))
print("10 kernels in %.2f s" % (time.time() - start))
