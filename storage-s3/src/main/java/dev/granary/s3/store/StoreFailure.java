package dev.granary.s3.store;

/**
 * Failure of a request.
 *
 * @param kind the kind of the failure
 * @param status the HTTP status, 0 without a response
 * @param code the error code of the server, such as {@code SlowDown}; empty if there is none
 * @param message the cause, in one line for people; contains no secret
 */
public record StoreFailure(Kind kind, int status, String code, String message) {
    /** Kind of a failure. */
    public enum Kind {
        /** The server refuses the credentials or their permissions, or there are no credentials. */
        DENIED,
        /** The server reports that this machine's clock is wrong. */
        CLOCK_SKEW,
        /** The bucket does not exist. */
        NO_BUCKET,
        /** The bucket is in another region than the requests are signed for. */
        WRONG_REGION,
        /** The server does not support the request (400, 501). */
        NOT_SUPPORTED,
        /** The server refuses this object (413, a digest or length that does not fit). */
        OBJECT_REFUSED,
        /** The server requests a lower rate (429, 503). */
        THROTTLED,
        /** The server failed (other 5xx), or sent an unexpected status. */
        SERVER,
        /** The connection failed: connection refused, unknown host. */
        UNREACHABLE,
        /**
         * The TLS handshake failed: the server uses plain HTTP, or its certificate is not trusted.
         */
        TLS,
        /** The response was not complete at the deadline. */
        TIMEOUT,
        /** The connection broke, or the response could not be parsed. */
        BROKEN,
        /** The response is longer than this process has memory for. */
        NO_MEMORY,
        /** No request was sent: too many are waiting. */
        BUSY,
        /** No request was sent: the circuit breaker is open. */
        SUSPENDED,
        /** No request was sent: the client could not be created. */
        CONFIGURATION
    }

    /** Creates a failure without an HTTP status. */
    public static StoreFailure of(Kind kind, String message) {
        return new StoreFailure(kind, 0, "", message);
    }

    /** Returns true if a retry of the request may succeed. */
    public boolean isTransient() {
        return switch (kind) {
            case THROTTLED, SERVER, UNREACHABLE, TLS, TIMEOUT, BROKEN -> true;
            default -> false;
        };
    }

    /** Returns true if no request was sent. */
    public boolean isUnsent() {
        return kind == Kind.BUSY || kind == Kind.SUSPENDED || kind == Kind.CONFIGURATION;
    }

    /** Returns true if the server could not be reached, or sent no complete response in time. */
    public boolean isWithoutResponse() {
        return status == 0 && (kind == Kind.TIMEOUT || kind == Kind.UNREACHABLE);
    }

    @Override
    public String toString() {
        return (status == 0 ? "" : status + " ") + (code.isEmpty() ? "" : code + ": ") + message;
    }
}
