/**
 * The kernels of the demo: OpenCL sources of real programs, each with a reference in plain Java.
 */
@NullMarked
package dev.granary.demo.kernels;

import org.jspecify.annotations.NullMarked;
