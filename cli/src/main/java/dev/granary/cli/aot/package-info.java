/** Fast start of the command: the AOT cache of the JVM, and the run that trains it. */
@NullMarked
package dev.granary.cli.aot;

import org.jspecify.annotations.NullMarked;
