"""Compiles some functions by JAX on the processor."""

import time

import jax
import jax.numpy as jnp


def layers(x, count):
    for i in range(count):
        x = jnp.tanh(x @ x + i) / (1 + jnp.abs(x).sum())
    return x


start = time.time()
for count in range(10, 20):
    step = jax.jit(jax.grad(lambda x, count=count: layers(x, count).sum()))
    step(jnp.ones((64, 64))).block_until_ready()
print("10 functions in %.2f s" % (time.time() - start))
