/**
 * The common part of the engines of all back-ends: programs, kernels and buffers. A back-end gives
 * the native calls.
 *
 * <p>Native objects are used within the time of their engine, and released exactly once: by the
 * owner, or with the engine.
 */
@NullMarked
package dev.granary.gpu.engine;

import org.jspecify.annotations.NullMarked;
