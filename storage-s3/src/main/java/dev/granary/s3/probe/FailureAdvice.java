package dev.granary.s3.probe;

import dev.granary.cache.support.CheckResult;
import dev.granary.s3.config.S3ClientLibrary;
import dev.granary.s3.config.S3Config;
import dev.granary.s3.store.SecretRedactor;
import dev.granary.s3.store.StoreFailure;

import java.util.Locale;

/** Converts a failure to its cause and its remedy for users, one line each. */
final class FailureAdvice {
    private static final String KEYS =
            "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or the profile";

    private final S3Config config;
    private final String bucket;
    private final String server;

    FailureAdvice(S3Config config) {
        this.config = config;
        this.bucket = config.location().bucket();
        this.server = config.connection()
                .endpoint()
                .map(address -> SecretRedactor.redact(address.toString()))
                .orElse("Amazon S3");
    }

    /** Returns the name of the server for messages. */
    String server() {
        return server;
    }

    /** Returns the advice for an endpoint that is not an S3 server. */
    CheckResult.Problem notS3(String seen) {
        return new CheckResult.Problem(
                "at " + server + " there is no S3 server: " + seen,
                "correct the endpoint; a web page, a console on another port or a sign-in page of"
                        + " a proxy responds like this"
                        + (isPlain() ? ", as does a server that requires https" : ""));
    }

    CheckResult.Problem of(StoreFailure failure) {
        return switch (failure.kind()) {
            case NO_BUCKET ->
                failure.code().isEmpty()
                        ? notS3("its response is " + failure)
                        : new CheckResult.Problem(
                                "there is no bucket " + bucket + " at " + server,
                                "create it, or correct the name: granary creates no buckets");
            case DENIED -> denied(failure);
            case CLOCK_SKEW ->
                new CheckResult.Problem(
                        "this machine's clock differs too much from the clock of " + server,
                        "set the clock, for example by turning on NTP: timedatectl set-ntp true");
            case WRONG_REGION ->
                failure.code().isEmpty()
                        ? new CheckResult.Problem(
                                server + " redirects requests (" + failure + ")",
                                "correct the endpoint, or set AWS_REGION to the region of the"
                                        + " bucket")
                        : new CheckResult.Problem(
                                "bucket " + bucket + " is in another region (" + failure + ")",
                                "set AWS_REGION to the bucket's own region");
            case UNREACHABLE -> unreachable(failure);
            case TLS -> tls(failure);
            case TIMEOUT, BROKEN ->
                new CheckResult.Problem(
                        server + " does not respond correctly (" + failure + ")",
                        "check that it is an S3 server, " + otherScheme()
                                + ", and the network between");
            case NOT_SUPPORTED ->
                failure.code().isEmpty()
                        ? notS3("its response is " + failure)
                        : new CheckResult.Problem(
                                server + " refuses requests as they are sent (" + failure + ")",
                                "checksum headers or the signed payload may be what it refuses:"
                                        + " try the other client (--client "
                                        + (config.client() == S3ClientLibrary.AWS ? "minio" : "aws")
                                        + "), or a newer server");
            case OBJECT_REFUSED ->
                new CheckResult.Problem(
                        server + " refuses an object (" + failure + ")",
                        "raise the largest body that the server, or a proxy before it, accepts");
            case THROTTLED, SERVER ->
                new CheckResult.Problem(
                        server + " fails (" + failure + ")",
                        "look at the server's own log, and try again");
            case NO_MEMORY ->
                new CheckResult.Problem(
                        server + " sends more than this process has memory for (" + failure + ")",
                        "check that it is an S3 server, or give the process a larger heap (-Xmx)");
            case BUSY, SUSPENDED ->
                new CheckResult.Problem(
                        "no requests are sent to the bucket after failures (" + failure + ")",
                        "try again in a minute");
            case CONFIGURATION ->
                new CheckResult.Problem(
                        "the client could not be created: " + failure.message(),
                        "change what the message names");
        };
    }

    private CheckResult.Problem denied(StoreFailure failure) {
        return switch (failure.code()) {
            case "InvalidAccessKeyId" ->
                new CheckResult.Problem(
                        server + " does not accept the access key (" + failure + ")",
                        "correct " + KEYS + ": they may be another server's");
            case "SignatureDoesNotMatch" ->
                new CheckResult.Problem(
                        "the secret key does not fit the access key (" + failure + ")",
                        "correct " + KEYS
                                + "; a proxy that changes the Host header has the same effect");
            case "ExpiredToken", "InvalidToken" ->
                new CheckResult.Problem(
                        "the session of the credentials has expired (" + failure + ")",
                        "sign in again, or renew AWS_SESSION_TOKEN");
            case "SecondLevelDomainForbidden" ->
                new CheckResult.Problem(
                        server
                                + " requires the bucket in the host name, granary puts it in the"
                                + " path ("
                                + failure + ")",
                        "set path-style=false in the address of the bucket");
            case "" ->
                failure.status() == 0
                        ? new CheckResult.Problem(
                                failure.message(), "set " + KEYS + " by AWS_PROFILE")
                        : notS3("its response is " + failure);
            default ->
                new CheckResult.Problem(
                        "access to " + config.location() + " is denied (" + failure + ")",
                        "allow s3:GetObject and s3:ListBucket"
                                + (config.connection().isAnonymous()
                                        ? " to everybody, or omit credentials=none"
                                        : ", or correct " + KEYS));
        };
    }

    private CheckResult.Problem unreachable(StoreFailure failure) {
        if (failure.message().contains("UnknownHost")) {
            return new CheckResult.Problem(
                    "there is no host with the name in " + server + " (" + failure + ")",
                    "correct the endpoint, or the name service; granary puts the bucket in the"
                            + " path, not in the host name");
        }
        return new CheckResult.Problem(
                "cannot connect to " + server + " (" + failure + ")",
                "start the server, or correct the endpoint's host and port, or let this machine"
                        + " connect to it"
                        + (failure.message().contains("imed out")
                                ? "; check " + otherScheme()
                                : ""));
    }

    private CheckResult.Problem tls(StoreFailure failure) {
        return failure.message().contains("SSL message")
                ? new CheckResult.Problem(
                        server + " does not support https", "write the endpoint with http://")
                : new CheckResult.Problem(
                        "the certificate of " + server + " is not accepted (" + failure + ")",
                        "use the host name of the certificate, or name a PEM file with its issuer"
                                + " by AWS_CA_BUNDLE, or run keytool -importcert -cacerts");
    }

    private String otherScheme() {
        return isPlain()
                ? "whether it requires https:// instead of http://"
                : "whether it supports only http://";
    }

    private boolean isPlain() {
        return server.toLowerCase(Locale.ROOT).startsWith("http:");
    }
}
