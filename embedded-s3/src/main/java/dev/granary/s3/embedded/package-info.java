/**
 * An S3 server inside the JVM, for the demo and for tests; needs the optional dependency
 * {@code org.gaul:s3proxy}.
 */
@NullMarked
package dev.granary.s3.embedded;

import org.jspecify.annotations.NullMarked;
