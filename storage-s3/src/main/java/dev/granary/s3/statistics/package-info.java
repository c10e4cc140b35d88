/** Counters of a bucket tier. */
@NullMarked
package dev.granary.s3.statistics;

import org.jspecify.annotations.NullMarked;
