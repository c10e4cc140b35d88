/**
 * The bucket tier: entries in an S3 bucket that a fleet shares. A program requires
 * {@code dev.granary.client.aws} or {@code dev.granary.client.minio} as well, with the client
 * library.
 */
@SuppressWarnings("module") // the modules named in qualified exports are built later
module dev.granary.s3 {
    requires transitive dev.granary.cache;
    requires com.google.gson;
    requires io.github.resilience4j.circuitbreaker;
    requires io.github.resilience4j.core;
    requires org.slf4j;
    // The client libraries are optional: dev.granary.client.aws and dev.granary.client.minio
    // require them. The MinIO client is not a module and declares no dependencies, so those are
    // here.
    requires static com.fasterxml.jackson.databind;
    requires static com.google.common;
    requires static minio;
    requires static okhttp3;
    requires static org.apache.commons.compress;
    requires static software.amazon.awssdk.auth;
    requires static software.amazon.awssdk.awscore;
    requires static software.amazon.awssdk.core;
    requires static software.amazon.awssdk.http;
    requires static software.amazon.awssdk.http.apache5;
    requires static software.amazon.awssdk.identity.spi;
    requires static software.amazon.awssdk.profiles;
    requires static software.amazon.awssdk.regions;
    requires static software.amazon.awssdk.retries.api;
    requires static software.amazon.awssdk.services.s3;
    requires static software.amazon.awssdk.utils;

    exports dev.granary.s3 to
            dev.granary.cli,
            dev.granary.coordinator,
            dev.granary.wrap;
    exports dev.granary.s3.config to
            dev.granary.cli,
            dev.granary.coordinator;
    exports dev.granary.s3.pack to
            dev.granary.cli,
            dev.granary.coordinator;
    exports dev.granary.s3.pack.compact to
            dev.granary.cli,
            dev.granary.coordinator;
    exports dev.granary.s3.pack.warm to
            dev.granary.cli,
            dev.granary.coordinator,
            dev.granary.wrap;
    exports dev.granary.s3.statistics to
            dev.granary.cli,
            dev.granary.coordinator;
    exports dev.granary.s3.store to
            dev.granary.cli,
            dev.granary.coordinator,
            dev.granary.wrap;
}
