/**
 * Native calls of OpenCL through LWJGL, each with a check of its status. The classes are not final,
 * so that tests can observe the calls.
 */
@NullMarked
package dev.granary.gpu.opencl.binding;

import org.jspecify.annotations.NullMarked;
