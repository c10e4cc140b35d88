package dev.granary.s3.resilience;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.s3.config.S3Config;
import dev.granary.s3.contract.Fault;
import dev.granary.s3.store.StoreFailure;
import dev.granary.s3.store.TrafficCounter;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import java.time.Duration;
import java.util.List;
import java.util.Optional;

/** Tests of the silence of a bucket, with given times. */
class SilenceClockTest {
    private static final long LIMIT = 20;
    private static final StoreFailure UNREACHABLE =
            StoreFailure.of(StoreFailure.Kind.UNREACHABLE, "connection refused");

    private final TrafficCounter traffic = new TrafficCounter();
    private final SilenceClock silence = new SilenceClock(LIMIT, traffic);

    /** A request that is not the last of its kind. */
    private boolean exceedsLimitAfter(StoreFailure failure, long start, long now) {
        return silence.recordEnd(Optional.of(failure), start, now, false);
    }

    private void answer() {
        assertFalse(silence.recordEnd(Optional.empty(), 0, 0, true));
    }

    @Test
    @DisplayName(
            "S5 A9 silence begins when the first request without a response was sent, and exceeds"
                    + " the limit after that time")
    void lasts() {
        answer();
        assertFalse(exceedsLimitAfter(Fault.TIMEOUT, 100, 110));
        assertFalse(exceedsLimitAfter(UNREACHABLE, 111, 119));
        assertTrue(exceedsLimitAfter(Fault.TIMEOUT, 112, 100 + LIMIT));
        assertTrue(exceedsLimitAfter(UNREACHABLE, 200, 201), "still the same silence");
    }

    @Test
    @DisplayName(
            "S5 A9 a response ends the silence, as does a failure reported by the server; another"
                    + " one begins at its own first request")
    void responses() {
        for (Optional<StoreFailure> answer : List.of(
                Optional.<StoreFailure>empty(),
                Optional.of(Fault.ERROR_500),
                Optional.of(Fault.RESET),
                Optional.of(new StoreFailure(
                        StoreFailure.Kind.TIMEOUT, 504, "", "a proxy waited too long")))) {
            answer();
            assertFalse(exceedsLimitAfter(Fault.TIMEOUT, 100, 119));
            assertFalse(silence.recordEnd(answer, 101, 300, true), answer::toString);
            assertFalse(exceedsLimitAfter(Fault.TIMEOUT, 310, 329), answer::toString);
            assertTrue(exceedsLimitAfter(Fault.TIMEOUT, 311, 330), answer::toString);
        }
    }

    @Test
    @DisplayName(
            "S5 progress of another request ends the silence: it restarts with the next request"
                    + " that failed")
    void progress() {
        answer();
        assertFalse(exceedsLimitAfter(Fault.TIMEOUT, 100, 119));
        traffic.progressed();
        assertFalse(exceedsLimitAfter(Fault.TIMEOUT, 105, 124));
        assertTrue(exceedsLimitAfter(Fault.TIMEOUT, 106, 125));
    }

    @Test
    @DisplayName(
            "S5 A9 for a bucket that never responded, one request without a response is enough,"
                    + " unless it is retried or did not connect")
    void neverResponded() {
        assertFalse(exceedsLimitAfter(Fault.TIMEOUT, 100, 101), "sent again");
        assertFalse(
                silence.recordEnd(Optional.of(UNREACHABLE), 100, 101, true),
                "the breaker counts these");
        assertFalse(silence.recordEnd(
                Optional.of(StoreFailure.of(StoreFailure.Kind.CONFIGURATION, "no client")),
                100,
                101,
                true));
        assertTrue(silence.recordEnd(Optional.of(Fault.TIMEOUT), 100, 101, true));
        answer();
        assertFalse(
                silence.recordEnd(Optional.of(Fault.TIMEOUT), 200, 201, true),
                "it has responded since");
    }

    @Test
    @DisplayName("S5 progress of a request without a response shows that the bucket is reachable")
    void respondedByProgress() {
        traffic.progressed();
        assertFalse(silence.recordEnd(Optional.of(Fault.TIMEOUT), 100, 101, true));
    }

    @Test
    @DisplayName(
            "S5 A9 packs: the limit of silence is 20 s, or four times the stall limit if that is"
                    + " less")
    void ofPacks() {
        assertEquals(
                Duration.ofSeconds(20),
                S3Config.builder("bucket").build().forPacks().silence());
        assertEquals(
                Duration.ofSeconds(2),
                S3Config.builder("bucket")
                        .stallTimeout(Duration.ofMillis(500))
                        .build()
                        .forPacks()
                        .silence());
    }
}
