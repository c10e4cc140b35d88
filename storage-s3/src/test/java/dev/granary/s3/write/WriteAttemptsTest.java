package dev.granary.s3.write;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;

import dev.granary.s3.store.StoreFailure;
import dev.granary.s3.store.WriteResult;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Optional;

/** Tests of the verdicts on scripted responses. */
class WriteAttemptsTest {
    private static final StoreFailure TIMEOUT = StoreFailure.of(StoreFailure.Kind.TIMEOUT, "late");
    private static final StoreFailure DENIED = StoreFailure.of(StoreFailure.Kind.DENIED, "no");
    private static final WriteResult UNKNOWN = new WriteResult.Unknown(TIMEOUT);
    private static final Duration PAUSE = Duration.ofMillis(100);

    private final WriteAttempts attempts = new WriteAttempts(RetryPolicy.upTo(3, PAUSE));
    private final List<Duration> pauses = new ArrayList<>();

    private WriteVerdict.Ended send(WriteResult... responses) {
        Deque<WriteResult> left = new ArrayDeque<>(List.of(responses));
        WriteVerdict.Ended verdict = attempts.send(left::remove, pauses::add);
        assertEquals(0, left.size(), "responses that were not requested");
        assertEquals(responses.length, attempts.sent());
        assertEquals(responses[responses.length - 1], attempts.last());
        return verdict;
    }

    @Test
    @DisplayName("a successful write is the writer's own, with one request")
    void done() {
        assertEquals(new WriteVerdict.Own("etag"), send(new WriteResult.Done("etag")));
        assertEquals(List.of(), pauses);
        assertEquals("", attempts.cause());
    }

    @Test
    @DisplayName("an ambiguous write is sent again after growing pauses; a failed precondition then"
            + " leaves open whose the object is")
    void ambiguous() {
        assertInstanceOf(
                WriteVerdict.Inspect.class,
                send(UNKNOWN, WriteResult.CONFLICT, WriteResult.PRECONDITION_FAILED));
        assertEquals(List.of(PAUSE, PAUSE.multipliedBy(2)), pauses);
        assertEquals(List.of(1, 1), List.of(attempts.unknowns(), attempts.conflicts()));
        assertEquals(Optional.of(TIMEOUT), attempts.unanswered());
        assertEquals("other writers were faster", attempts.cause());
    }

    @Test
    @DisplayName(
            "a failed precondition is inspected at once, since a proxy may send a request twice")
    void exists() {
        assertInstanceOf(WriteVerdict.Inspect.class, send(WriteResult.PRECONDITION_FAILED));
        assertEquals(List.of(), pauses);
        assertEquals(Optional.empty(), attempts.unanswered());
    }

    @Test
    @DisplayName("after the last ambiguous attempt the object is inspected")
    void exhausted() {
        assertInstanceOf(WriteVerdict.Inspect.class, send(UNKNOWN, UNKNOWN, UNKNOWN));
        assertEquals(2, pauses.size());
        assertEquals("late", attempts.cause());
    }

    @Test
    @DisplayName("a refusal ends the attempts, and an earlier unanswered one is not forgotten")
    void refused() {
        assertEquals(
                new WriteVerdict.Refused(DENIED),
                send(UNKNOWN, new WriteResult.NotAllowed(DENIED)));
        assertEquals(Optional.of(TIMEOUT), attempts.unanswered());
    }

    @Test
    @DisplayName("a request that was not sent ends the attempts")
    void notSent() {
        StoreFailure busy = StoreFailure.of(StoreFailure.Kind.BUSY, "too many wait");
        assertEquals(new WriteVerdict.GivenUp(busy), send(new WriteResult.NotSent(busy)));
        assertEquals(Optional.empty(), attempts.unanswered());
    }
}
