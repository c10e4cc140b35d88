/** Examples that pages of the documentation quote. */
@NullMarked
package dev.granary.examples;

import org.jspecify.annotations.NullMarked;
