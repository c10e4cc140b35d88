/**
 * The demo: three machines that share kernels through a bucket, with sixteen OpenCL programs whose
 * results are checked.
 */
@NullMarked
package dev.granary.demo;

import org.jspecify.annotations.NullMarked;
