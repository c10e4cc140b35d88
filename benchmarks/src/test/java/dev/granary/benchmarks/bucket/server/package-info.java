/** Tests of the processes of the bucket benchmark. */
@NullMarked
package dev.granary.benchmarks.bucket.server;

import org.jspecify.annotations.NullMarked;
