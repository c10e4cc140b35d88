package dev.granary.s3.probe;

import static dev.granary.s3.contract.Fault.ERROR_500;
import static dev.granary.s3.contract.Fault.TIMEOUT;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.cache.support.CheckResult;
import dev.granary.cache.support.Ticker;
import dev.granary.s3.ObjectStoreFactory;
import dev.granary.s3.config.S3ClientLibrary;
import dev.granary.s3.config.S3Config;
import dev.granary.s3.config.S3Location;
import dev.granary.s3.contract.DeviatingObjectStore;
import dev.granary.s3.contract.DeviatingObjectStore.Deviation;
import dev.granary.s3.contract.Fault;
import dev.granary.s3.contract.MemoryObjectStore;
import dev.granary.s3.contract.TestS3;
import dev.granary.s3.layout.BucketLayout;
import dev.granary.s3.store.GetResult;
import dev.granary.s3.store.ObjectStore;
import dev.granary.s3.store.StoreFailure;
import dev.granary.s3.store.WriteResult;
import dev.granary.testing.TestSeed;
import dev.granary.testing.TestTicker;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;

/** Tests of the probe with servers that honour all conditions, and with others. */
class CapabilityProbeTest {
    private static final BucketLayout LAYOUT =
            new BucketLayout(S3Location.parse("s3://bucket/team"));

    private final TestTicker ticker = new TestTicker();

    private ProbeResult probe(ObjectStore store) {
        return new CapabilityProbe(store, LAYOUT, ticker, TestSeed.random("CapabilityProbeTest"))
                .run();
    }

    private ProbeResult.Probed probed(ObjectStore store) {
        ProbeResult result = probe(store);
        return assertInstanceOf(ProbeResult.Probed.class, result, result::toString);
    }

    private static long notices(ProbeResult result) {
        return result.results().stream()
                .filter(CheckResult.Notice.class::isInstance)
                .count();
    }

    @Test
    @DisplayName("a server with all capabilities: FULL, each step is reported, nothing stays, and"
            + " at most 100 requests are sent")
    void full() {
        MemoryObjectStore store = new MemoryObjectStore();
        ProbeResult.Probed result = probed(store);
        assertEquals(ConditionalWriteSupport.FULL, result.verdict().writes());
        assertTrue(result.verdict().honoursConditionalDelete());
        assertEquals(1_700_000_000_000L, result.serverMillis());
        assertEquals(9, result.results().size(), result::toString);
        assertEquals(0, notices(result), result::toString);
        assertEquals(List.of(), store.keys());
        assertEquals(List.of(), ticker.pauses());
        assertTrue(store.requests().size() <= 100, () -> store.requests().size() + " requests");
        assertTrue(store.requests().stream().filter("PUT none-match"::equals).count() >= 32 + 2);
        assertTrue(store.requests().stream().filter("PUT match"::equals).count() >= 32 + 2);
    }

    @ParameterizedTest
    @EnumSource(S3ClientLibrary.class)
    @Tag("exhaustive")
    @DisplayName("the test server, through both transports: FULL, and nothing stays")
    void wire(S3ClientLibrary client) {
        S3Config config = TestS3.server().config().client(client).build();
        try (ObjectStore store = ObjectStoreFactory.open(config)) {
            BucketLayout layout = new BucketLayout(config.location());
            ProbeResult result = new CapabilityProbe(
                            store,
                            layout,
                            Ticker.SYSTEM,
                            TestSeed.random("CapabilityProbeTest.wire"))
                    .run();
            ProbeResult.Probed probed =
                    assertInstanceOf(ProbeResult.Probed.class, result, result::toString);
            assertEquals(ConditionalWriteSupport.FULL, probed.verdict().writes(), probed::toString);
            assertTrue(probed.serverMillis() > 0);
            store.list(layout.root(), object -> {
                throw new AssertionError("left behind: " + object.key());
            });
        }
    }

    @ParameterizedTest
    @CsvSource({
        "IGNORES_CONDITIONS, NONE, a second create of one object succeeded",
        "REFUSES_CONDITIONS, NONE, 501 NotImplemented",
        "RACY_CREATE, NONE, 2 of 32 won",
        "REMEMBERS_DELETED, NONE, a deleted object is not created again",
        "IGNORES_IF_MATCH, CREATE_ONLY, a stale version was replaced",
        "REFUSES_IF_MATCH, CREATE_ONLY, 501 NotImplemented",
        "RACY_REPLACE, CREATE_ONLY, 2 of 32 won",
        "IGNORES_CONDITIONAL_DELETE, FULL, a stale version is deleted",
        "FORBIDS_DELETIONS, FULL, deleting is not allowed"
    })
    @DisplayName("a server that ignores, refuses or races: lower capabilities, and the step that"
            + " showed it is reported")
    void deviations(Deviation deviation, ConditionalWriteSupport expected, String message) {
        ProbeResult.Probed result = probed(new DeviatingObjectStore(deviation));
        assertEquals(expected, result.verdict().writes(), result::toString);
        assertTrue(
                result.results().stream()
                        .anyMatch(check -> check instanceof CheckResult.Notice notice
                                && notice.finding().contains(message)),
                result::toString);
    }

    @Test
    @DisplayName("an ignored condition of a delete is reported separately and does not lower the"
            + " capabilities, as with Ceph")
    void conditionalDelete() {
        ProbeResult.Probed result =
                probed(new DeviatingObjectStore(Deviation.IGNORES_CONDITIONAL_DELETE));
        assertFalse(result.verdict().honoursConditionalDelete());
        assertEquals(ConditionalWriteSupport.FULL, result.verdict().writes());
    }

    @Test
    @DisplayName("losers that get 500: the races are repeated, three times in total, and one winner"
            + " each time is enough")
    void losersWith500() {
        DeviatingObjectStore store = new DeviatingObjectStore(Deviation.LOSES_WITH_500);
        assertEquals(ConditionalWriteSupport.FULL, probed(store).verdict().writes());
        long creates =
                store.requests().stream().filter("PUT none-match"::equals).count();
        assertTrue(
                creates >= 3 * ConditionalWriteRace.RACERS
                        && creates <= 3 * ConditionalWriteRace.RACERS + 20,
                () -> creates + " creates");
    }

    @Test
    @DisplayName("two winners are conclusive at once, even if other racers got no response")
    void twoWinners() {
        DeviatingObjectStore store =
                new DeviatingObjectStore(Deviation.RACY_CREATE, Deviation.LOSES_WITH_500);
        assertEquals(ConditionalWriteSupport.NONE, probed(store).verdict().writes());
        long creates = store.requests().stream()
                .filter(request -> request.equals("PUT none-match"))
                .count();
        assertTrue(creates <= ConditionalWriteRace.RACERS + 10, () -> creates + " creates");
    }

    @Test
    @DisplayName("the winner's body was overwritten by a loser: not honoured")
    void loserOnTop() {
        MemoryObjectStore store = new MemoryObjectStore() {
            @Override
            public WriteResult putIfAbsent(String key, byte[] body) {
                WriteResult result = super.putIfAbsent(key, body);
                // that of a racer
                if (result instanceof WriteResult.PreconditionFailed && body.length > 20) {
                    place(key, body);
                }
                return result;
            }
        };
        ProbeResult.Probed result = probed(store);
        assertEquals(ConditionalWriteSupport.NONE, result.verdict().writes());
        assertTrue(result.results().toString().contains("winner's body"), result::toString);
    }

    @Test
    @DisplayName("a new object that is not seen at once is reported")
    void late() {
        ProbeResult.Probed result = probed(new MemoryObjectStore() {
            @Override
            public GetResult range(String key, long offset, int length, byte[] into) {
                return GetResult.ABSENT;
            }
        });
        assertEquals(1, notices(result), result::toString);
        assertTrue(result.results().toString().contains("reported as absent"), result::toString);
    }

    @Test
    @DisplayName("a lost response is inconclusive: the step is repeated")
    void lostResponses() {
        for (int step = 0; step < 6; step++) {
            for (Fault fault : List.of(
                    new Fault.Lost(TIMEOUT),
                    new Fault.AnswerLost(TIMEOUT),
                    new Fault.AnswerLost(ERROR_500),
                    new Fault.Conflicting(Fault.Moment.BEFORE))) {
                MemoryObjectStore store = new MemoryObjectStore();
                for (int i = 0; i < step; i++) {
                    store.script(new Fault.None());
                }
                store.script(fault);
                assertEquals(
                        ConditionalWriteSupport.FULL,
                        probed(store).verdict().writes(),
                        "step " + step + ", " + fault);
            }
        }
    }

    @Test
    @DisplayName(
            "a missing permission to write is inconclusive, as are silence and a refused upload")
    void inconclusive() {
        assertEquals(
                StoreFailure.Kind.DENIED,
                assertInstanceOf(
                                ProbeResult.Stopped.class,
                                probe(new DeviatingObjectStore(Deviation.FORBIDS_WRITES)))
                        .failure()
                        .kind());
        assertEquals(
                400,
                assertInstanceOf(
                                ProbeResult.Stopped.class,
                                probe(new DeviatingObjectStore(Deviation.REFUSES_WRITES)))
                        .failure()
                        .status());
        assertEquals(
                TIMEOUT,
                assertInstanceOf(ProbeResult.Stopped.class, probe(new SilentFrom(0)))
                        .failure());
    }

    @Test
    @DisplayName(
            "a server that falls silent at any moment of the probe: never lower capabilities than"
                    + " the true ones")
    void silentFromThenOn() {
        for (int from = 0; from < 100; from++) {
            switch (probe(new SilentFrom(from))) {
                case ProbeResult.Probed probed ->
                    assertEquals(
                            ConditionalWriteSupport.FULL,
                            probed.verdict().writes(),
                            "silent from request " + from);
                case ProbeResult.Stopped stopped -> assertTrue(stopped.failure().isTransient());
            }
        }
    }

    /** Processes no request from a given one on. */
    private static final class SilentFrom extends MemoryObjectStore {
        private final AtomicInteger remaining;

        SilentFrom(int requests) {
            remaining = new AtomicInteger(requests);
        }

        private boolean isSilent() {
            return remaining.getAndDecrement() <= 0;
        }

        @Override
        public GetResult get(String key, long limit) {
            return isSilent() ? new GetResult.Unavailable(TIMEOUT) : super.get(key, limit);
        }

        @Override
        public WriteResult put(String key, byte[] body) {
            return isSilent() ? WriteResult.failed(TIMEOUT) : super.put(key, body);
        }

        @Override
        public WriteResult putIfAbsent(String key, byte[] body) {
            return isSilent() ? WriteResult.failed(TIMEOUT) : super.putIfAbsent(key, body);
        }

        @Override
        public WriteResult replaceIfMatch(String key, String etag, byte[] body) {
            return isSilent() ? WriteResult.failed(TIMEOUT) : super.replaceIfMatch(key, etag, body);
        }

        @Override
        public WriteResult delete(String key) {
            return isSilent() ? WriteResult.failed(TIMEOUT) : super.delete(key);
        }
    }
}
