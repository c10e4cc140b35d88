/** Claims on work that processes of one machine would do twice, held by locks on files. */
@NullMarked
package dev.granary.local.claim;

import org.jspecify.annotations.NullMarked;
