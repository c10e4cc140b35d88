package dev.granary.s3.contract;

import dev.granary.s3.embedded.ConditionMode;
import dev.granary.s3.store.StoreFailure;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/**
 * What happens to one request on its way to an S3 server and back. {@link FaultyS3} does it on the wire, {@link MemoryObjectStore} as a
 * transport would report it.
 *
 * <p>What matters most is on which side of the server's commit a fault falls, so each kind of fault that could fall on both comes as both.
 */
public sealed interface Fault {
    /** Before the server has seen the request, or after it has carried it out. */
    enum Moment {
        /** The server never sees the request. */
        BEFORE,
        /** The server has carried the request out. */
        AFTER
    }

    /** How an answer is changed on its way. */
    enum Change {
        /** It ends in the middle, and the connection with it. */
        TRUNCATED,
        /** It is longer than its head says: the rest stays in the connection, ahead of the next answer. */
        SURPLUS,
        /** It is longer than what is stored, and its head says so, as of a server that does not know ranges. Bodies of reads only. */
        LONGER,
        /** It names another version. */
        WRONG_ETAG,
        /** It is the answer to an earlier read of another key. Reads only; all else goes through unchanged. */
        OTHER_BODY
    }

    /** Nothing. */
    record None() implements Fault {}

    /** Something happens just before the request is carried out. */
    record Meanwhile(Runnable event) implements Fault {}

    /**
     * The request never arrives.
     *
     * @param failure what its sender gets to know: an error answer where it has a status, else silence where it is a timeout, else a reset
     */
    record Lost(StoreFailure failure) implements Fault {}

    /**
     * The request is carried out, its answer is lost.
     *
     * @param failure what its sender gets to know instead, as in {@link Lost}
     */
    record AnswerLost(StoreFailure failure) implements Fault {}

    /** The request is carried out and its answer is lost; then something happens. */
    record AnswerLostThen(StoreFailure failure, Runnable event) implements Fault {}

    /** The request arrives, and is carried out, after its sender has given up. */
    record Late() implements Fault {}

    /** The request, or its answer, takes so much longer. */
    record Delayed(Moment moment, Duration time) implements Fault {}

    /** The answer is 409. */
    record Conflicting(Moment moment) implements Fault {}

    /** The answer is 412, whatever the condition. */
    record PreconditionFailed(Moment moment) implements Fault {}

    /** The answer is 200, and nothing else. */
    record Blank(Moment moment) implements Fault {}

    /** The answer is 200 and a page of HTML, as of a proxy that wants somebody to sign in. */
    record Page(Moment moment) implements Fault {}

    /** The answer is changed on its way. */
    record Changed(Change change) implements Fault {}

    /** The server handles the condition of this write so. The embedded server and the one in memory only; nothing happens to reads. */
    record Conditioned(ConditionMode conditions) implements Fault {}

    /** No answer within the deadline. */
    StoreFailure TIMEOUT = StoreFailure.of(StoreFailure.Kind.TIMEOUT, "no answer");

    /** The connection was reset. */
    StoreFailure RESET = StoreFailure.of(StoreFailure.Kind.BROKEN, "connection reset");

    /** A failure of the server. */
    StoreFailure ERROR_500 = new StoreFailure(StoreFailure.Kind.SERVER, 500, "InternalError", "a failure");

    /** The server asks for fewer requests. */
    StoreFailure SLOW_DOWN = new StoreFailure(StoreFailure.Kind.THROTTLED, 503, "SlowDown", "please reduce your request rate");

    /** A refusal; what an absent object looks like, too, to who may not list. */
    StoreFailure DENIED = new StoreFailure(StoreFailure.Kind.DENIED, 403, "AccessDenied", "not for you");

    /** The credentials have expired, as Amazon says it. */
    StoreFailure EXPIRED = new StoreFailure(StoreFailure.Kind.DENIED, 400, "ExpiredToken", "the provided token has expired");

    /** The credentials have expired, as others say it. */
    StoreFailure EXPIRED_403 = new StoreFailure(StoreFailure.Kind.DENIED, 403, "ExpiredToken", "the provided token has expired");

    /** One of each kind, at both moments where it has them: what a protocol must stand. */
    static List<Fault> each() {
        List<Fault> all = new ArrayList<>();
        for (StoreFailure failure : List.of(TIMEOUT, RESET, ERROR_500, SLOW_DOWN, DENIED, EXPIRED, EXPIRED_403)) {
            all.add(new Lost(failure));
            all.add(new AnswerLost(failure));
        }
        for (Moment moment : Moment.values()) {
            all.add(new Delayed(moment, Duration.ofMillis(5)));
            all.add(new Conflicting(moment));
            all.add(new PreconditionFailed(moment));
            all.add(new Blank(moment));
            all.add(new Page(moment));
        }
        for (Change change : Change.values()) {
            all.add(new Changed(change));
        }
        all.add(new Late());
        all.add(new Conditioned(ConditionMode.IGNORED));
        all.add(new Conditioned(ConditionMode.RACY));
        return List.copyOf(all);
    }

    /** Those of {@link #each} after which nothing false was said: then the first entry of an id must stay, whatever happens. */
    static List<Fault> honest() {
        return each().stream().filter(fault -> !fault.isFalse()).toList();
    }

    /** True where the sender may hear nothing, and wait as long as its deadline lets it; after a surplus, for the next answer. */
    default boolean isSilent() {
        return switch (this) {
            case Lost lost -> lost.failure().equals(TIMEOUT);
            case AnswerLost lost -> lost.failure().equals(TIMEOUT);
            case AnswerLostThen lost -> lost.failure().equals(TIMEOUT);
            case Changed changed -> changed.change() == Change.SURPLUS;
            case Late _ -> true;
            case None _, Meanwhile _, Delayed _, Conflicting _, PreconditionFailed _, Blank _, Page _, Conditioned _ -> false;
        };
    }

    /** True where the sender may send another request that nobody gets: into a connection that has ended, or too late for its own deadline. */
    default boolean mayHideRequests() {
        return isSilent() || equals(new Changed(Change.TRUNCATED));
    }

    /** True where what the sender is told of an object, or of its write, is not true; false where it is true or nothing. */
    default boolean isFalse() {
        return switch (this) {
            case AnswerLost lost -> !lost.failure().isTransient();
            case AnswerLostThen lost -> !lost.failure().isTransient();
            case Conflicting _, PreconditionFailed _, Blank _, Page _, Changed _, Conditioned _ -> true;
            case None _, Meanwhile _, Lost _, Late _, Delayed _ -> false;
        };
    }
}
