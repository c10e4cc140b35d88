/** The store over those files: commit lock, recovery, appending, committing, reading. */
@NullMarked
package dev.granary.local.store;

import org.jspecify.annotations.NullMarked;
