/** Texts of sources in OpenCL C, as compilers read them. */
@NullMarked
package dev.granary.gpu.source;

import org.jspecify.annotations.NullMarked;
