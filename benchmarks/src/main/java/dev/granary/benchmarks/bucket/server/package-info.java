/** S3 servers of the bucket benchmark, and the routes to them. */
@NullMarked
package dev.granary.benchmarks.bucket.server;

import org.jspecify.annotations.NullMarked;
