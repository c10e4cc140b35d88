/** Entries, settings and measuring tools of the bucket benchmark. */
@NullMarked
package dev.granary.benchmarks.bucket.workload;

import org.jspecify.annotations.NullMarked;
