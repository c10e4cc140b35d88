/** The check whether binaries are for a target, by the rules of each driver. */
@NullMarked
package dev.granary.gpu.binary.compatibility;

import org.jspecify.annotations.NullMarked;
