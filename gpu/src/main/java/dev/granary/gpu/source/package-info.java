/** Sources and headers of a program as files, for compilers that read files. */
@NullMarked
package dev.granary.gpu.source;

import org.jspecify.annotations.NullMarked;
