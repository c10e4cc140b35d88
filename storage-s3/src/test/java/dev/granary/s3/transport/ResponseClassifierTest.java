package dev.granary.s3.transport;

import static dev.granary.testing.BucketAssertions.assertThat;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.s3.store.MissingCredentialsException;
import dev.granary.s3.store.SecretRedactor;
import dev.granary.s3.store.StoreFailure;
import dev.granary.s3.store.StoreFailure.Kind;
import dev.granary.s3.store.WriteResult;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import java.io.EOFException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.ConnectException;
import java.net.SocketException;
import java.net.SocketTimeoutException;
import java.net.UnknownHostException;
import java.util.List;
import java.util.Map;

/** Tests of the classification of exceptions and responses. */
class ResponseClassifierTest {
    @Test
    @DisplayName("an exception is classified by its root cause")
    void exceptions() {
        Map<Throwable, Kind> meanings = Map.of(
                new UnknownHostException("minio"), Kind.UNREACHABLE,
                new ConnectException("Connection refused"), Kind.UNREACHABLE,
                new SocketTimeoutException("Connect timed out"), Kind.UNREACHABLE,
                new SocketTimeoutException("Read timed out"), Kind.TIMEOUT,
                new SocketException("Connection reset"), Kind.BROKEN,
                new SocketException("Socket closed"), Kind.TIMEOUT,
                new IOException("Canceled"), Kind.TIMEOUT,
                new EOFException("closed"), Kind.BROKEN,
                new MissingCredentialsException("", new IOException("nowhere")), Kind.DENIED,
                new IllegalStateException("closed"), Kind.BROKEN);
        meanings.forEach((thrown, kind) -> {
            assertEquals(kind, ResponseClassifier.failure(thrown).kind(), thrown::toString);
            assertEquals(
                    kind,
                    ResponseClassifier.failure(new IllegalArgumentException("around", thrown))
                            .kind(),
                    thrown::toString);
            assertEquals(
                    kind,
                    ResponseClassifier.failure(new UncheckedIOException(new IOException(thrown)))
                            .kind(),
                    thrown::toString);
        });
    }

    @Test
    @DisplayName("a message is one line of bounded length, also if the server sends none")
    void messages() {
        StoreFailure failure =
                ResponseClassifier.failure(500, "InternalError", "a\nb\r\n\tc" + "x".repeat(1000));
        assertTrue(
                failure.message().startsWith("a b c") && failure.message().length() < 250,
                failure::message);
        assertEquals("500 InternalError: " + failure.message(), failure.toString());
        assertEquals(
                "403 SignatureDoesNotMatch: without an S3 error message",
                ResponseClassifier.failure(403, "SignatureDoesNotMatch", "").toString());
    }

    @Test
    @DisplayName("causes are plain without the source code of a client library")
    void causes() {
        Map<Throwable, String> causes = Map.of(
                new SocketException("Socket closed"),
                        "no complete response within the time limits, so the connection was closed",
                new EOFException("\n not found: limit=0 content=..."),
                        "the server closed the connection before its response was complete",
                new IOException("bucket.host:80 failed to respond"),
                        "the server closed the connection before its response was complete",
                new NullPointerException("Cannot invoke \"String.replaceAll(String, String)\""),
                        "the response is not in the S3 format (NullPointerException)",
                new NumberFormatException("For input string: \"x\""),
                        "the response is not in the S3 format (NumberFormatException)");
        causes.forEach((thrown, cause) -> assertEquals(
                cause,
                ResponseClassifier.failure(new UncheckedIOException(new IOException(thrown)))
                        .message()));
    }

    @Test
    @DisplayName("a redirect of a proxy is no reason to retry")
    void redirects() {
        for (int status : new int[] {300, 301, 302, 303, 304, 305, 307, 308}) {
            assertFalse(
                    ResponseClassifier.failure(status, "", "status " + status).isTransient(),
                    () -> "" + status);
        }
    }

    @Test
    @DisplayName("a message has no secret, user information, query value, control character or"
            + " endless code of a server")
    void secrets() {
        String token = "FwoGZXIvYXdzEBYaDNotARealSessionToken0123456789+/=";
        String chosen = "correct horse"; // no pattern shows that it is a secret
        SecretRedactor.register(chosen);
        for (String message : List.of(
                "The token " + token + " is bad",
                "bad:" + chosen + ";",
                "see http://user:hush@host/x?X-Amz-Security-Token=hush&b=hush")) {
            for (StoreFailure failure : List.of(
                    ResponseClassifier.failure(403, "AccessDenied", message),
                    ResponseClassifier.failure(new IOException(message)),
                    ResponseClassifier.failure(403, message.replaceAll("[^A-Za-z0-9]", ""), "x"))) {
                for (String secret : List.of(
                        token,
                        token.replaceAll("[^A-Za-z0-9]", ""),
                        chosen,
                        "hush@",
                        "=hush",
                        "user:")) {
                    assertFalse(failure.toString().contains(secret), failure::toString);
                }
            }
        }
        StoreFailure anyCase = ResponseClassifier.failure(
                403, "A".repeat(100_000), "a\u001b[2Jb\u0000c\u202ed" + "\u0007");
        assertEquals("403 a [2Jb c d", anyCase.toString());
        String split = "x".repeat(190) + chosen;
        assertFalse(
                ResponseClassifier.failure(403, "", split).message().contains("correct"),
                "a secret is not cut in two by the limit of a message");
    }

    @Test
    @DisplayName("text without secrets stays: hashes, host names, targets, regions, and the usual"
            + " messages")
    void noSecrets() {
        for (String message : List.of(
                "Connect to http://minio.internal.example.com:9000 failed",
                "v1/opencl/nvidia-a100-sxm4-80gb-1234567890ab/e/ab/" + "ab".repeat(32),
                "The Access Key Id you provided does not exist in our records.",
                "no such region: eu-central-1")) {
            assertEquals(message, ResponseClassifier.failure(403, "", message).message());
        }
    }

    @Test
    @DisplayName("a success without an ETag is unknown")
    void strange() {
        assertThat(ResponseClassifier.written("")).isUnknown();
        assertEquals(new WriteResult.Done("e"), ResponseClassifier.written("e"));
    }

    @Test
    @DisplayName("no kind of failure is both transient and unsent")
    void kinds() {
        for (Kind kind : Kind.values()) {
            StoreFailure failure = StoreFailure.of(kind, "");
            assertFalse(failure.isTransient() && failure.isUnsent(), kind::toString);
            assertEquals(
                    failure.isUnsent(),
                    WriteResult.failed(failure) instanceof WriteResult.NotSent,
                    kind::toString);
            assertEquals(
                    failure.isTransient(),
                    WriteResult.failed(failure) instanceof WriteResult.Unknown,
                    kind::toString);
        }
    }
}
