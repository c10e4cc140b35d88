/**
 * The AWS SDK for Java 2 as the client of buckets. The module has no code: it resolves the modules
 * that {@code dev.granary.s3} uses optionally, and those of the JDK that the SDK and its HTTP
 * client use without declaring them.
 */
module dev.granary.client.aws {
    requires transitive dev.granary.s3;
    requires java.security.jgss;
    requires java.xml;
    requires jdk.net;
    requires software.amazon.awssdk.auth;
    requires software.amazon.awssdk.awscore;
    requires software.amazon.awssdk.core;
    requires software.amazon.awssdk.http;
    requires software.amazon.awssdk.http.apache5;
    requires software.amazon.awssdk.identity.spi;
    requires software.amazon.awssdk.profiles;
    requires software.amazon.awssdk.regions;
    requires software.amazon.awssdk.retries.api;
    requires software.amazon.awssdk.services.s3;
    requires software.amazon.awssdk.services.sso;
    requires software.amazon.awssdk.services.ssooidc;
    requires software.amazon.awssdk.services.sts;
    requires software.amazon.awssdk.utils;
}
