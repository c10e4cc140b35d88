/** Entries, settings and measuring tools of the local benchmark. */
@NullMarked
package dev.granary.benchmarks.local.workload;

import org.jspecify.annotations.NullMarked;
