/** Goals, reports and file trees of all benchmarks. */
@NullMarked
package dev.granary.benchmarks.harness;

import org.jspecify.annotations.NullMarked;
