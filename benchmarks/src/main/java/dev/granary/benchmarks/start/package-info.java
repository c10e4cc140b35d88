/** Start and end of a program whose bucket works, or does not. */
@NullMarked
package dev.granary.benchmarks.start;

import org.jspecify.annotations.NullMarked;
