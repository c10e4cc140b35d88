package dev.granary.s3.register;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.granary.s3.contract.Fault;
import dev.granary.s3.contract.MemoryObjectStore;
import dev.granary.s3.pack.PackFixture;
import dev.granary.s3.store.StoreFailure;
import dev.granary.testing.TestSeed;
import dev.granary.testing.TestTicker;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import java.time.Duration;
import java.util.List;
import java.util.Optional;

/** Writes of objects that are named by their content: success is only what the server answered. */
class ImmutableWriteTest {
    private static final String KEY = "p/1";
    private static final byte[] BODY = "a pack".getBytes(UTF_8);
    private static final Fault NONE = new Fault.None();
    private static final Fault LOST = new Fault.Lost(Fault.TIMEOUT);
    private static final Fault ANSWER_LOST = new Fault.AnswerLost(Fault.TIMEOUT);
    private static final Fault CONFLICT = new Fault.Conflicting(Fault.Moment.BEFORE);

    private final MemoryObjectStore store = new MemoryObjectStore();
    private final TestTicker ticker = new TestTicker();
    private final Register register =
            new Register(store, PackFixture.KEYS, TestSeed.random("ImmutableWriteTest"), ticker);

    private Optional<StoreFailure> write(Fault... faults) {
        store.script(faults);
        Optional<StoreFailure> failure = register.writeImmutable(KEY, BODY);
        store.forgetScript();
        return failure;
    }

    @Test
    @DisplayName("a write is one request")
    void done() {
        assertEquals(Optional.empty(), write());
        assertEquals(List.of("PUT none-match"), store.requests());
        assertArrayEquals(BODY, store.body(KEY));
        assertEquals(List.of(), ticker.pauses());
    }

    @Test
    @DisplayName("requests that were lost or met another one are sent again: the object is there"
            + " whenever the server said so")
    void repeated() {
        for (List<Fault> faults : List.of(
                List.of(ANSWER_LOST),
                List.of(LOST),
                List.of(CONFLICT),
                List.of(LOST, ANSWER_LOST),
                List.of(CONFLICT, ANSWER_LOST),
                List.of(LOST, LOST))) {
            store.remove(KEY);
            assertEquals(Optional.empty(), write(faults.toArray(Fault[]::new)), faults::toString);
            assertArrayEquals(BODY, store.body(KEY));
        }
    }

    @Test
    @DisplayName("an object that exists is taken for this one by its length, after one HEAD")
    void exists() {
        store.place(KEY, BODY);
        assertEquals(Optional.empty(), write());
        assertEquals(List.of("PUT none-match", "HEAD"), store.requests());
    }

    @Test
    @DisplayName("a server that reports the object as existing, and lacks it or has another length,"
            + " is a failure: nothing may name it")
    void denied() {
        Fault exists = new Fault.PreconditionFailed(Fault.Moment.BEFORE);
        assertEquals(
                Optional.of(StoreFailure.Kind.SERVER),
                write(exists, NONE, exists, NONE, exists, NONE).map(StoreFailure::kind));
        store.place(KEY, new byte[BODY.length - 1]);
        assertEquals(Optional.of(StoreFailure.Kind.SERVER), write().map(StoreFailure::kind));
        assertEquals(BODY.length - 1, store.body(KEY).length);
    }

    @Test
    @DisplayName("three requests without an answer are a failure, even if one had its effect")
    void unanswered() {
        assertEquals(Optional.of(Fault.TIMEOUT), write(LOST, LOST, ANSWER_LOST));
        assertEquals(3, store.requests().size());
        assertEquals(List.of(Duration.ofMillis(100), Duration.ofMillis(200)), ticker.pauses());
    }

    @Test
    @DisplayName("a refusal ends the write at once")
    void refused() {
        assertEquals(Optional.of(Fault.DENIED), write(new Fault.Lost(Fault.DENIED)));
        assertEquals(1, store.requests().size());
        assertEquals(List.of(), store.keys());
    }
}
