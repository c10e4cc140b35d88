package dev.granary.s3.history;

import dev.granary.s3.store.StoreFailure;
import java.util.List;

/** What may happen to one request. */
enum Disturbance {
    /** Nothing. */
    NONE(Kind.HONEST),
    /** It never arrives; 500. */
    LOST(Kind.HONEST),
    /** It is carried out; 500. */
    ANSWER_LOST(Kind.HONEST),
    /** It is carried out later; no answer. */
    LATE(Kind.HONEST),
    /** 409; nothing is changed. */
    CONFLICT(Kind.HONEST),
    /** 403, for a reason that passes: credentials that are renewed a moment later. */
    REFUSED(Kind.HONEST),
    /** The body of a read is cut, and the head says nothing of it. */
    TRUNCATED(Kind.LIE),
    /** The answer is that of some moments before. */
    STALE(Kind.LIE),
    /** The body is that of another object beside it. */
    SWAPPED(Kind.LIE),
    /** Metadata and dates are missing in the answer. */
    BARE(Kind.LIE),
    /** 409 to a write that has landed, as where a proxy sends it twice. */
    CONFLICT_LANDED(Kind.LIE),
    /** 412 to a condition that held; nothing is changed. */
    FALSE_412(Kind.LIE),
    /** 403 to a write that has landed. */
    REFUSED_LANDED(Kind.LIE);

    /** Whether what the sender is told is true, or nothing. */
    enum Kind { HONEST, LIE }

    static final StoreFailure TIMEOUT = StoreFailure.of(StoreFailure.Kind.TIMEOUT, "no answer");
    static final StoreFailure ERROR_500 = new StoreFailure(StoreFailure.Kind.SERVER, 500, "InternalError", "a failure");
    static final StoreFailure DENIED = new StoreFailure(StoreFailure.Kind.DENIED, 403, "AccessDenied", "Access Denied");
    static final StoreFailure NOT_IMPLEMENTED = new StoreFailure(StoreFailure.Kind.NOT_SUPPORTED, 501, "NotImplemented", "no If-Match");

    private final Kind kind;

    Disturbance(Kind kind) {
        this.kind = kind;
    }

    boolean isLie() {
        return kind == Kind.LIE;
    }

    static List<Disturbance> all() {
        return List.of(values()).subList(1, values().length);
    }
}
