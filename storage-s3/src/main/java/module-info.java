/**
 * The bucket tier: entries in an S3 bucket that a fleet shares.
 *
 * <p>Only {@code dev.granary.s3.embedded} needs S3Proxy, which cannot be a module. On a module path
 * it needs S3Proxy on the class path and {@code --add-reads dev.granary.s3=ALL-UNNAMED}.
 */
module dev.granary.s3 {
    requires transitive dev.granary.cache;
    requires com.google.gson;
    requires io.github.resilience4j.circuitbreaker;
    requires io.github.resilience4j.core;
    requires io.github.resilience4j.retry;
    requires org.slf4j;
    requires software.amazon.awssdk.auth;
    requires software.amazon.awssdk.awscore;
    requires software.amazon.awssdk.core;
    requires software.amazon.awssdk.http;
    requires software.amazon.awssdk.http.apache5;
    requires software.amazon.awssdk.identity.spi;
    requires software.amazon.awssdk.regions;
    requires software.amazon.awssdk.retries.api;
    requires software.amazon.awssdk.services.s3;
    requires software.amazon.awssdk.utils;
    // The MinIO client is optional. It is not a module and declares no dependencies, so those are
    // here.
    requires static com.fasterxml.jackson.databind;
    requires static com.google.common;
    requires static minio;
    requires static okhttp3;
    requires static org.apache.commons.compress;

    exports dev.granary.s3;
    exports dev.granary.s3.config;
    exports dev.granary.s3.embedded;
    exports dev.granary.s3.pack;
    exports dev.granary.s3.pack.compact;
    exports dev.granary.s3.pack.format;
    exports dev.granary.s3.pack.manifest;
    exports dev.granary.s3.pack.warm;
    exports dev.granary.s3.probe;
    exports dev.granary.s3.statistics;
    exports dev.granary.s3.store;
}
