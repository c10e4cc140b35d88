package dev.granary.s3.history;

import dev.granary.s3.store.StoreFailure;

import java.util.List;

/** A fault of one request. */
enum Disturbance {
    /** No fault. */
    NONE(Kind.TRUTHFUL),
    /** The request never arrives; 500. */
    LOST(Kind.TRUTHFUL),
    /** The request is carried out; 500. */
    ANSWER_LOST(Kind.TRUTHFUL),
    /** The request is carried out later; no response. */
    LATE(Kind.TRUTHFUL),
    /** 409; nothing is changed. */
    CONFLICT(Kind.TRUTHFUL),
    /** 403, for a temporary reason, such as credentials that are renewed a moment later. */
    REFUSED(Kind.TRUTHFUL),
    /** The body of a read is truncated, and the header does not show it. */
    TRUNCATED(Kind.FALSE),
    /** The response is an earlier one. */
    STALE(Kind.FALSE),
    /** The body is that of another object beside it. */
    SWAPPED(Kind.FALSE),
    /** The object has more bytes than the reader takes, or than its memory holds. */
    TOO_LARGE(Kind.FALSE),
    /** Dates are missing in the response. */
    BARE(Kind.FALSE),
    /** 409 to a write that has landed, as when a proxy sends it twice. */
    CONFLICT_LANDED(Kind.FALSE),
    /** 412 to a condition that held; nothing is changed. */
    FALSE_412(Kind.FALSE),
    /** 403 to a write that has landed. */
    REFUSED_LANDED(Kind.FALSE);

    /** Whether the response is true, or missing, or false. */
    enum Kind {
        TRUTHFUL,
        FALSE
    }

    static final StoreFailure TIMEOUT = StoreFailure.of(StoreFailure.Kind.TIMEOUT, "no answer");
    static final StoreFailure ERROR_500 =
            new StoreFailure(StoreFailure.Kind.SERVER, 500, "InternalError", "a failure");
    static final StoreFailure DENIED =
            new StoreFailure(StoreFailure.Kind.DENIED, 403, "AccessDenied", "Access Denied");
    static final StoreFailure NOT_IMPLEMENTED =
            new StoreFailure(StoreFailure.Kind.NOT_SUPPORTED, 501, "NotImplemented", "no If-Match");

    private final Kind kind;

    Disturbance(Kind kind) {
        this.kind = kind;
    }

    boolean isFalse() {
        return kind == Kind.FALSE;
    }

    static List<Disturbance> all() {
        return List.of(values()).subList(1, values().length);
    }
}
