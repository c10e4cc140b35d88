/** Client libraries for object stores, compared by the bucket benchmark. */
@NullMarked
package dev.granary.benchmarks.bucket.transport;

import org.jspecify.annotations.NullMarked;
