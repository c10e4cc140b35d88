/** The devices of this machine, through each backend. */
@NullMarked
package dev.granary.cli.device;

import org.jspecify.annotations.NullMarked;
