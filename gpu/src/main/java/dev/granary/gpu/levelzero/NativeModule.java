package dev.granary.gpu.levelzero;

import dev.granary.gpu.engine.NativeHandle;

import java.util.List;

/**
 * A built module of one engine.
 *
 * @param handle the native module
 * @param kernels the names of the requested kernels
 */
record NativeModule(NativeHandle handle, List<String> kernels) {}
