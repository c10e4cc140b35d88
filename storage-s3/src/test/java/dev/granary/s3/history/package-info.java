/** Random histories of a fleet over one bucket, and what must hold in each: {@code docs/testing.md} has a section on them. */
@NullMarked
package dev.granary.s3.history;

import org.jspecify.annotations.NullMarked;
