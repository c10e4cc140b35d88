package dev.granary.gpu.opencl;

import dev.granary.gpu.engine.NativeHandle;

import java.util.List;

/** A {@code cl_program} of one engine, with the names of its requested kernels. */
record ProgramHandle(OpenClEngine engine, NativeHandle handle, List<String> kernels) {}
