/**
 * The MinIO client as the client of buckets. The module has no code: it resolves the modules that
 * {@code dev.granary.s3} uses optionally, and those that the client, and the HTTP client of the AWS
 * SDK, use without declaring them.
 */
module dev.granary.client.minio {
    requires transitive dev.granary.s3;
    requires com.fasterxml.jackson.databind;
    requires com.google.common;
    requires java.logging;
    requires java.naming;
    requires java.security.jgss;
    requires java.sql;
    requires java.xml;
    requires jdk.net;
    requires jdk.unsupported;
    requires minio;
    requires okhttp3;
    requires org.apache.commons.compress;
    requires software.amazon.awssdk.auth;
    requires software.amazon.awssdk.core;
    requires software.amazon.awssdk.identity.spi;
    requires software.amazon.awssdk.profiles;
    requires software.amazon.awssdk.regions;
    requires software.amazon.awssdk.services.sso;
    requires software.amazon.awssdk.services.ssooidc;
    requires software.amazon.awssdk.services.sts;
}
