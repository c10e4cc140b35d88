/** Child processes of the command, and their temporary directories. */
@NullMarked
package dev.granary.cli.process;

import org.jspecify.annotations.NullMarked;
