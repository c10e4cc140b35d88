/** Compilers in processes of their own, whose end does not end the command. */
@NullMarked
package dev.granary.cli.compiler;

import org.jspecify.annotations.NullMarked;
