/**
 * Differences between OpenCL drivers: the targets of their devices, the launches that complete
 * their binaries, the headers that their compilers read, and workarounds for PoCL.
 */
@NullMarked
package dev.granary.gpu.opencl.driver;

import org.jspecify.annotations.NullMarked;
