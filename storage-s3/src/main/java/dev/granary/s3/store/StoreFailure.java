package dev.granary.s3.store;

/**
 * Why a request brought no answer that its kind of result knows.
 *
 * @param kind what to make of it
 * @param status the HTTP status, 0 where no answer came
 * @param code the error code of the server, such as {@code SlowDown}; empty where there is none
 * @param message what happened, in one line for people; holds no secret
 */
public record StoreFailure(Kind kind, int status, String code, String message) {
    /** What to make of a failure. */
    public enum Kind {
        /** The server refuses the credentials, or what they ask for; or there are none. */
        DENIED,
        /** The server says that this machine's clock is wrong. */
        CLOCK_SKEW,
        /** There is no such bucket. */
        NO_BUCKET,
        /** The bucket is in another region than the requests are signed for. */
        WRONG_REGION,
        /** The server does not know or not support what was asked (400, 501). */
        NOT_SUPPORTED,
        /** The server asks for fewer requests (429, 503). */
        THROTTLED,
        /** The server failed (other 5xx), or answered what nobody should. */
        SERVER,
        /** No connection came about: nobody there, unknown host. */
        UNREACHABLE,
        /** A connection came about, but no agreement on https: the other side speaks http, or its certificate is not trusted. */
        TLS,
        /** No whole answer within the deadline. */
        TIMEOUT,
        /** The connection broke, or the answer could not be read. */
        BROKEN,
        /** The answer is longer than this process has memory for. */
        NO_MEMORY,
        /** No request was made: too many are waiting already. */
        BUSY,
        /** No request was made: the store has failed or dawdled too often, and is left alone for a while. */
        SUSPENDED,
        /** No request was made: the client could not be set up. */
        CONFIGURATION
    }

    /** A failure to which the server gave no status. */
    public static StoreFailure of(Kind kind, String message) {
        return new StoreFailure(kind, 0, "", message);
    }

    /** True where the very same request may well succeed in a moment. */
    public boolean isTransient() {
        return switch (kind) {
            case THROTTLED, SERVER, UNREACHABLE, TLS, TIMEOUT, BROKEN -> true;
            case DENIED, CLOCK_SKEW, NO_BUCKET, WRONG_REGION, NOT_SUPPORTED, NO_MEMORY, BUSY, SUSPENDED, CONFIGURATION -> false;
        };
    }

    /** True where no request left this machine. */
    public boolean isUnsent() {
        return switch (kind) {
            case BUSY, SUSPENDED, CONFIGURATION -> true;
            case DENIED, CLOCK_SKEW, NO_BUCKET, WRONG_REGION, NOT_SUPPORTED, NO_MEMORY, THROTTLED, SERVER, UNREACHABLE, TLS, TIMEOUT, BROKEN -> false;
        };
    }

    @Override
    public String toString() {
        return (status == 0 ? "" : status + " ") + (code.isEmpty() ? "" : code + ": ") + message;
    }
}
