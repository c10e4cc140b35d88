/** The base of the commands, their options, with converters, and their errors. */
@NullMarked
package dev.granary.cli.option;

import org.jspecify.annotations.NullMarked;
