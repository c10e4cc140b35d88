/**
 * An S3 server inside the JVM, for the demo and for tests.
 *
 * <p>It needs S3Proxy, which cannot be a module. On a module path it needs S3Proxy on the class
 * path and {@code --add-reads dev.granary.s3.embedded=ALL-UNNAMED}.
 */
module dev.granary.s3.embedded {
    requires org.jspecify;
    requires software.amazon.awssdk.core;
    requires software.amazon.awssdk.http;
    requires software.amazon.awssdk.services.s3;

    exports dev.granary.s3.embedded;
}
