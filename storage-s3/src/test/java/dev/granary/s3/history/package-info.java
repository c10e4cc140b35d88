/**
 * Random histories of a fleet over one bucket, and the promises that must hold in each; see
 * {@code docs/testing.md}.
 */
@NullMarked
package dev.granary.s3.history;

import org.jspecify.annotations.NullMarked;
