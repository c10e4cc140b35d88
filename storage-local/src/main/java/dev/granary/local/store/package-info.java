/** One store over those files: the commit lock, recovery, appending, entering, reading. */
@NullMarked
package dev.granary.local.store;

import org.jspecify.annotations.NullMarked;
