/** Reports of entries whose restore ended processes, in the bucket. */
@NullMarked
package dev.granary.s3.quarantine;

import org.jspecify.annotations.NullMarked;
