/** Restores in processes of their own, which a driver may end. */
@NullMarked
package dev.granary.gpu.trial;

import org.jspecify.annotations.NullMarked;
