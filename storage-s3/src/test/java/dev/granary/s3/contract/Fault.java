package dev.granary.s3.contract;

import dev.granary.s3.embedded.ConditionMode;
import dev.granary.s3.store.StoreFailure;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/**
 * A fault of one request to an S3 server or its response. {@link FaultyS3} injects it on the wire,
 * {@link MemoryObjectStore} as a transport would report it.
 *
 * <p>Faults that may occur on either side of the server's commit come in both variants, since that
 * decides their effect.
 */
public sealed interface Fault {
    /** Before the server has received the request, or after it has processed it. */
    enum Moment {
        /** The server never receives the request. */
        BEFORE,
        /** The server has processed the request. */
        AFTER
    }

    /** Change of a response in transit. */
    enum Change {
        /** It ends in the middle, and so does the connection. */
        TRUNCATED,
        /**
         * It is longer than declared: the rest stays in the connection, before the next response.
         */
        SURPLUS,
        /**
         * It is longer than the stored bytes and declared so, like that of a server without ranges.
         * Bodies of reads only.
         */
        LONGER,
        /** It names another version. */
        WRONG_ETAG,
        /**
         * It is the response to an earlier read of another key. Reads only; other requests are
         * unchanged.
         */
        OTHER_BODY
    }

    /** No fault. */
    record None() implements Fault {}

    /** An event occurs just before the request is processed. */
    record Meanwhile(Runnable event) implements Fault {}

    /**
     * The request never arrives.
     *
     * @param failure the failure at the sender: an error response if it has a status, silence if it
     *     is a timeout, else a reset
     */
    record Lost(StoreFailure failure) implements Fault {}

    /**
     * The request is processed, and its response is lost.
     *
     * @param failure the failure at the sender, as in {@link Lost}
     */
    record AnswerLost(StoreFailure failure) implements Fault {}

    /** The request is processed and its response is lost; then an event occurs. */
    record AnswerLostThen(StoreFailure failure, Runnable event) implements Fault {}

    /** The request arrives, and is processed, after its sender has given up. */
    record Late() implements Fault {}

    /** The request or its response is delayed. */
    record Delayed(Moment moment, Duration time) implements Fault {}

    /** The response is 409. */
    record Conflicting(Moment moment) implements Fault {}

    /** The response is 412, whatever the condition. */
    record PreconditionFailed(Moment moment) implements Fault {}

    /** The response is an empty 200. */
    record Blank(Moment moment) implements Fault {}

    /** The response is 200 with an HTML page, like the sign-in page of a proxy. */
    record Page(Moment moment) implements Fault {}

    /** The response is changed in transit. */
    record Changed(Change change) implements Fault {}

    /**
     * The server handles the condition of this write in this mode. Embedded and in-memory servers
     * only; reads are unaffected.
     */
    record Conditioned(ConditionMode conditions) implements Fault {}

    /** No response within the deadline. */
    StoreFailure TIMEOUT = StoreFailure.of(StoreFailure.Kind.TIMEOUT, "no answer");

    /** The connection was reset. */
    StoreFailure RESET = StoreFailure.of(StoreFailure.Kind.BROKEN, "connection reset");

    /** A failure of the server. */
    StoreFailure ERROR_500 =
            new StoreFailure(StoreFailure.Kind.SERVER, 500, "InternalError", "a failure");

    /** The server requests a lower rate. */
    StoreFailure SLOW_DOWN = new StoreFailure(
            StoreFailure.Kind.THROTTLED, 503, "SlowDown", "please reduce your request rate");

    /** A refusal; also the response for an absent object without the permission to list. */
    StoreFailure DENIED =
            new StoreFailure(StoreFailure.Kind.DENIED, 403, "AccessDenied", "not for you");

    /** The credentials have expired, in Amazon's form. */
    StoreFailure EXPIRED = new StoreFailure(
            StoreFailure.Kind.DENIED, 400, "ExpiredToken", "the provided token has expired");

    /** The credentials have expired, in the form of other servers. */
    StoreFailure EXPIRED_403 = new StoreFailure(
            StoreFailure.Kind.DENIED, 403, "ExpiredToken", "the provided token has expired");

    /** Returns one fault of each kind, at both moments if it has them. */
    static List<Fault> each() {
        List<Fault> all = new ArrayList<>();
        for (StoreFailure failure :
                List.of(TIMEOUT, RESET, ERROR_500, SLOW_DOWN, DENIED, EXPIRED, EXPIRED_403)) {
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

    /**
     * Returns those of {@link #each} without false responses: with them, the first entry of an id
     * must stay.
     */
    static List<Fault> honest() {
        return each().stream().filter(fault -> !fault.isFalse()).toList();
    }

    /**
     * Returns true if the sender may get no response until its deadline; after a surplus, to the
     * next request.
     */
    default boolean isSilent() {
        return switch (this) {
            case Lost lost -> lost.failure().equals(TIMEOUT);
            case AnswerLost lost -> lost.failure().equals(TIMEOUT);
            case AnswerLostThen lost -> lost.failure().equals(TIMEOUT);
            case Changed changed -> changed.change() == Change.SURPLUS;
            case Late _ -> true;
            case None _,
                    Meanwhile _,
                    Delayed _,
                    Conflicting _,
                    PreconditionFailed _,
                    Blank _,
                    Page _,
                    Conditioned _ -> false;
        };
    }

    /**
     * Returns true if the sender may send another request that never arrives: on a closed
     * connection, or after its own deadline.
     */
    default boolean mayHideRequests() {
        return isSilent() || equals(new Changed(Change.TRUNCATED));
    }

    /** Returns true if the sender gets false information on an object or its write. */
    default boolean isFalse() {
        return switch (this) {
            case AnswerLost lost -> !lost.failure().isTransient();
            case AnswerLostThen lost -> !lost.failure().isTransient();
            case Conflicting _, PreconditionFailed _, Blank _, Page _, Changed _, Conditioned _ ->
                true;
            case None _, Meanwhile _, Lost _, Late _, Delayed _ -> false;
        };
    }
}
