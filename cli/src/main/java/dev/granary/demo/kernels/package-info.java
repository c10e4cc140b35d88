/** The kernels of the demo: OpenCL sources that do real work, each with a reference in plain Java that a device must agree with. */
@NullMarked
package dev.granary.demo.kernels;

import org.jspecify.annotations.NullMarked;
