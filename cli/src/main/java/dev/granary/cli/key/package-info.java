/** Keys of ids for people: their text, their differences, and the arguments that name them. */
@NullMarked
package dev.granary.cli.key;

import org.jspecify.annotations.NullMarked;
