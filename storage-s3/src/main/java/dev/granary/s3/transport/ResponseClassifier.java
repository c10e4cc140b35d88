package dev.granary.s3.transport;

import static dev.granary.s3.store.StoreFailure.Kind.BROKEN;
import static dev.granary.s3.store.StoreFailure.Kind.CLOCK_SKEW;
import static dev.granary.s3.store.StoreFailure.Kind.DENIED;
import static dev.granary.s3.store.StoreFailure.Kind.NOT_SUPPORTED;
import static dev.granary.s3.store.StoreFailure.Kind.NO_BUCKET;
import static dev.granary.s3.store.StoreFailure.Kind.NO_MEMORY;
import static dev.granary.s3.store.StoreFailure.Kind.OBJECT_REFUSED;
import static dev.granary.s3.store.StoreFailure.Kind.SERVER;
import static dev.granary.s3.store.StoreFailure.Kind.THROTTLED;
import static dev.granary.s3.store.StoreFailure.Kind.TIMEOUT;
import static dev.granary.s3.store.StoreFailure.Kind.TLS;
import static dev.granary.s3.store.StoreFailure.Kind.UNREACHABLE;
import static dev.granary.s3.store.StoreFailure.Kind.WRONG_REGION;

import dev.granary.s3.store.GetResult;
import dev.granary.s3.store.MissingCredentialsException;
import dev.granary.s3.store.SecretRedactor;
import dev.granary.s3.store.StoreFailure;
import dev.granary.s3.store.WriteResult;

import org.jspecify.annotations.Nullable;

import java.io.EOFException;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.net.ConnectException;
import java.net.NoRouteToHostException;
import java.net.SocketException;
import java.net.SocketTimeoutException;
import java.net.UnknownHostException;
import java.nio.channels.UnresolvedAddressException;
import java.security.cert.CertPathBuilderException;
import java.security.cert.CertificateException;
import java.time.DateTimeException;
import java.util.Locale;
import java.util.Optional;
import java.util.concurrent.CancellationException;
import java.util.regex.Pattern;

import javax.net.ssl.SSLException;
import javax.net.ssl.SSLHandshakeException;
import javax.net.ssl.SSLPeerUnverifiedException;

/**
 * Maps the responses of S3 servers and the exceptions of clients to results, alike for all
 * transports.
 */
public final class ResponseClassifier {
    private static final int MESSAGE_LIMIT = 200;

    /** Characters of a message that are examined: an error of a server may have 256 KiB. */
    private static final int EXAMINED_LIMIT = 4096;

    private static final Pattern CODE = Pattern.compile("[A-Za-z0-9._-]{0,64}");

    private ResponseClassifier() {}

    /** Returns the failure of a HEAD response from which the length of the object is missing. */
    public static StoreFailure withoutLength() {
        return StoreFailure.of(
                StoreFailure.Kind.BROKEN,
                "a response to HEAD without a Content-Length header: is this an S3 server?");
    }

    /** Returns true if a failure reports that the object, and not the bucket, is missing. */
    public static boolean isAbsent(StoreFailure failure) {
        return failure.status() == 404 && !isMissingBucket(failure.code());
    }

    /** Returns the result of a read with If-None-Match; empty if the object is that version. */
    public static Optional<GetResult> ifChanged(GetResult read, String etag) {
        return switch (read) {
            case GetResult.Unavailable lost when lost.failure().status() == 304 -> Optional.empty();
            case GetResult.Found found when found.etag().equals(etag) -> Optional.empty();
            case GetResult.Found _,
                    GetResult.Absent _,
                    GetResult.TooLarge _,
                    GetResult.Unavailable _ -> Optional.of(read);
        };
    }

    /** Returns the message for a status that came without one; the status stands before it. */
    private static String withoutMessage(int status) {
        return status == 407
                ? "refusal of the proxy, which requires another user or password"
                : status / 100 == 3
                        ? "redirect, which is not followed"
                        : "without an S3 error message";
    }

    /** Returns the failure for a status other than success; servers omit code or message. */
    public static StoreFailure failure(
            int status, @Nullable String code, @Nullable String message) {
        String safeCode =
                code != null && CODE.matcher(code).matches() ? SecretRedactor.redact(code) : "";
        return new StoreFailure(
                kind(status, safeCode),
                status,
                safeCode,
                oneLine(message == null || message.isBlank() ? withoutMessage(status) : message));
    }

    /**
     * Returns the result of a PUT with a success status. Every S3 server returns the new ETag; a
     * success without one comes from a proxy or the like, and is ambiguous.
     */
    public static WriteResult written(String etag) {
        return etag.isEmpty()
                ? WriteResult.failed(
                        StoreFailure.of(BROKEN, "a success without an ETag: is this an S3 server?"))
                : new WriteResult.Done(etag);
    }

    /**
     * Returns the result of a failed write without a condition: a 404 or 412 does not come from an
     * S3 server.
     */
    public static WriteResult plainWrite(StoreFailure failure) {
        return failure.status() == 409 ? WriteResult.CONFLICT : WriteResult.failed(failure);
    }

    /** Returns the result of a failed conditional write or deletion. */
    public static WriteResult write(StoreFailure failure) {
        return isAbsent(failure) || failure.status() == 412 || failure.status() == 304
                ? WriteResult.PRECONDITION_FAILED
                : plainWrite(failure);
    }

    /** Returns the failure for an exception instead of a response; examines all of its causes. */
    public static StoreFailure failure(Throwable thrown) {
        StoreFailure.Kind kind = BROKEN;
        Throwable deepest = thrown;
        for (Throwable t = thrown; t != null; t = t.getCause()) {
            deepest = t;
            if (t instanceof MissingCredentialsException) {
                return StoreFailure.of(DENIED, oneLine(String.valueOf(t.getMessage())));
            }
            if (t instanceof TooLittleMemoryException) {
                return StoreFailure.of(NO_MEMORY, String.valueOf(t.getMessage()));
            }
            if (t instanceof UnknownHostException
                    || t instanceof ConnectException
                    || t instanceof NoRouteToHostException
                    || t instanceof UnresolvedAddressException) {
                kind = UNREACHABLE;
            } else if (t instanceof InterruptedIOException) { // includes SocketTimeoutException
                kind = isConnecting(t) ? UNREACHABLE : TIMEOUT;
            } else if (t instanceof SSLHandshakeException
                    || t instanceof SSLPeerUnverifiedException
                    || t instanceof CertificateException
                    || t instanceof CertPathBuilderException
                    || isNoTls(t)) {
                kind = TLS;
            } else if (kind == BROKEN
                    && (isClosedHere(t) || (!(t instanceof IOException) && isTimeout(t)))) {
                kind = TIMEOUT;
            }
            if (t.getCause() == t) {
                break;
            }
        }
        return StoreFailure.of(kind, oneLine(cause(deepest)));
    }

    /**
     * Returns the message for the root cause, in plain words for obscure messages of client
     * libraries.
     */
    private static String cause(Throwable deepest) {
        String name = deepest.getClass().getSimpleName();
        String message = String.valueOf(deepest.getMessage());
        if (isClosedHere(deepest)
                || (deepest instanceof SocketTimeoutException && !isConnecting(deepest))) {
            return "no complete response within the time limits, so the connection was closed";
        }
        if (deepest instanceof EOFException
                || message.contains("failed to respond")
                || message.startsWith("unexpected end of stream")) {
            return "the server closed the connection before its response was complete";
        }
        if (deepest instanceof NullPointerException
                || deepest instanceof ArithmeticException
                || deepest instanceof IndexOutOfBoundsException
                || deepest instanceof NumberFormatException
                || deepest instanceof DateTimeException) {
            return "the response is not in the S3 format (" + name + ")";
        }
        return deepest.getMessage() == null ? name : name + ": " + message;
    }

    private static StoreFailure.Kind kind(int status, String code) {
        if (isMissingBucket(code)) {
            return NO_BUCKET;
        }
        return switch (code) {
            case "RequestTimeTooSkewed" -> CLOCK_SKEW;
            case "AuthorizationHeaderMalformed",
                    "PermanentRedirect",
                    "TemporaryRedirect",
                    "IllegalLocationConstraintException" -> WRONG_REGION;
            case "ExpiredToken",
                    "InvalidToken",
                    "InvalidAccessKeyId",
                    "SignatureDoesNotMatch",
                    "AccessDenied" -> DENIED;
            case "SlowDown", "ServiceUnavailable", "TooManyRequests" -> THROTTLED;
            // a 400 of S3 that concerns the connection, not the request
            case "RequestTimeout" -> TIMEOUT;
            // about the body of this request; another object may be accepted
            case "EntityTooLarge",
                    "EntityTooSmall",
                    "BadDigest",
                    "InvalidDigest",
                    "IncompleteBody",
                    "XAmzContentSHA256Mismatch" -> OBJECT_REFUSED;
            default ->
                switch (status) {
                    case 301, 307, 308 -> WRONG_REGION;
                    // of a proxy or a web page, which would redirect a retry as well
                    case 300, 302, 303, 304, 305 -> NOT_SUPPORTED;
                    case 401, 403 -> DENIED;
                    case 404 -> NO_BUCKET;
                    case 407 -> UNREACHABLE; // of a proxy
                    case 408 -> TIMEOUT;
                    case 413 -> OBJECT_REFUSED;
                    case 429, 503 -> THROTTLED;
                    case 501 -> NOT_SUPPORTED;
                    default -> status >= 400 && status < 500 ? NOT_SUPPORTED : SERVER;
                };
        };
    }

    private static boolean isMissingBucket(String code) {
        return code.equals("NoSuchBucket");
    }

    /**
     * Returns true for a closed socket and a cancelled call: OkHttp does both at its time limits,
     * and the MinIO client reports only that.
     */
    private static boolean isClosedHere(Throwable t) {
        return (t instanceof SocketException && "Socket closed".equals(t.getMessage()))
                || (t.getClass() == IOException.class && "Canceled".equals(t.getMessage()))
                || t instanceof CancellationException; // before the request had a connection
    }

    private static boolean isTimeout(Throwable t) {
        return t.getClass().getSimpleName().toLowerCase(Locale.ROOT).contains("timeout");
    }

    /** Returns true for the JDK's exception for a plain-text response. */
    private static boolean isNoTls(Throwable t) {
        return t instanceof SSLException && String.valueOf(t.getMessage()).contains("SSL message");
    }

    private static boolean isConnecting(Throwable t) {
        String name = t.getClass().getSimpleName() + " " + t.getMessage();
        return name.toLowerCase(Locale.ROOT).contains("connect");
    }

    private static String oneLine(String message) {
        String read =
                message.length() <= EXAMINED_LIMIT ? message : message.substring(0, EXAMINED_LIMIT);
        String line = SecretRedactor.redact(read)
                .replaceAll("[\\s\\p{Cntrl}\\p{Cf}\\p{Co}\\p{Cs}]+", " ")
                .strip();
        return line.length() <= MESSAGE_LIMIT ? line : line.substring(0, MESSAGE_LIMIT) + "...";
    }
}
