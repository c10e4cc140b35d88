package dev.granary.s3;

import static dev.granary.testing.CacheAssertions.assertThat;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.cache.Entry;
import dev.granary.cache.EntryCatalog;
import dev.granary.cache.LoadResult;
import dev.granary.cache.StoreResult;
import dev.granary.cache.contract.TestEntries;
import dev.granary.s3.config.S3ClientLibrary;
import dev.granary.s3.contract.Fault;
import dev.granary.s3.contract.FaultPlan;
import dev.granary.s3.contract.FaultyS3;
import dev.granary.s3.contract.S3Request;
import dev.granary.s3.contract.TestS3;
import dev.granary.s3.statistics.BucketTierStatistics;
import dev.granary.testing.TestSeed;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.Stream;

/**
 * Tests every fault at every request of every scenario of publishing and looking up, on both
 * transports. A run without faults yields the requests of a scenario; it is then repeated with each
 * fault at each of them.
 */
@Tag("exhaustive")
class ExhaustiveFaultsTest {
    private static final int AT_ONCE = 12; // most of them wait
    private static final Duration LONG = Duration.ofSeconds(30);
    private static final Duration SHORT = Duration.ofMillis(400);
    private static final Duration TIME_LIMIT = Duration.ofMinutes(5);

    /** Initial content and operation. */
    enum Scenario {
        STORE_NEW(Before.NOTHING, Call.STORE),
        STORE_DUPLICATE(Before.MINE, Call.STORE),
        STORE_DIVERGENT(Before.THEIRS, Call.STORE),
        STORE_OVER_DAMAGE(Before.DAMAGE, Call.LOAD, Call.STORE),
        LOAD_HIT(Before.THEIRS, Call.LOAD),
        LOAD_ABSENT(Before.NOTHING, Call.LOAD),
        LOAD_DAMAGED(Before.DAMAGE, Call.LOAD),
        LIST(Before.THEIRS, Call.LIST);

        private final Before before;
        private final List<Call> calls;

        Scenario(Before before, Call... calls) {
            this.before = before;
            this.calls = List.of(calls);
        }
    }

    private enum Before {
        NOTHING,
        MINE,
        THEIRS,
        DAMAGE
    }

    private enum Call {
        LOAD,
        STORE,
        LIST
    }

    /** A request of a run without faults, by its number among those of its kind. */
    private record Position(String operation, String keyInPlace, int number) {}

    private final TestEntries entries = new TestEntries(ExhaustiveFaultsTest.class.getName());
    private final Entry own = entries.entry(600);
    private final Entry foreign = entries.entry(own.id(), 700);
    private final Entry other = entries.entry(500);

    static Stream<Arguments> scenarios() {
        return Stream.of(S3ClientLibrary.values()).flatMap(client -> Stream.of(Scenario.values())
                .map(scenario -> Arguments.of(client, scenario)));
    }

    @ParameterizedTest
    @MethodSource("scenarios")
    @DisplayName("any fault at any request: right bytes, true results, nothing hangs or"
            + " throws, exact counters, and recovery")
    void everyFault(S3ClientLibrary client, Scenario scenario) throws Exception {
        List<Position> positions = cleanRun(client, scenario);
        assertFalse(positions.isEmpty());
        List<Future<?>> runs = new ArrayList<>();
        try (ExecutorService threads = Executors.newFixedThreadPool(AT_ONCE)) {
            for (Position position : positions) {
                TestS3.server().faults().stream()
                        .filter(fault -> concerns(fault, position))
                        .forEach(fault -> runs.add(
                                threads.submit(() -> run(client, scenario, position, fault))));
            }
            for (Future<?> run : runs) {
                run.get();
            }
        }
        System.out.println("granary.faults: " + client + " " + scenario + ": " + positions.size()
                + " requests, " + runs.size() + " runs");
    }

    /** Returns false for faults of conditions at requests without one. */
    private static boolean concerns(Fault fault, Position position) {
        return !(fault instanceof Fault.Conditioned) || position.operation().startsWith("PUT ");
    }

    private List<Position> cleanRun(S3ClientLibrary client, Scenario scenario) throws Exception {
        List<Position> positions = new ArrayList<>();
        try (Run run = new Run(client, scenario, LONG)) {
            run.call(FaultPlan.SOUND);
            Map<List<String>, Integer> numbers = new HashMap<>();
            for (S3Request request : run.requests()) {
                String key = request.key().substring(run.history.prefix().length());
                int number = numbers.merge(List.of(request.operation(), key), 1, Integer::sum) - 1;
                positions.add(new Position(request.operation(), key, number));
            }
            run.heal();
        }
        return positions;
    }

    private Void run(S3ClientLibrary client, Scenario scenario, Position position, Fault fault)
            throws Exception {
        try (Run run = new Run(client, scenario, fault.isSilent() ? SHORT : LONG)) {
            run.call(FaultPlan.once(
                    request -> request.operation().equals(position.operation())
                            && request.key().equals(run.history.prefix() + position.keyInPlace()),
                    position.number(),
                    fault));
            run.heal();
        } catch (Exception | AssertionError e) {
            throw new AssertionError(
                    fault + " at " + position + " of " + scenario + " through " + client, e);
        }
        return null;
    }

    /** One run of a scenario. */
    private final class Run implements AutoCloseable {
        private final WireHistory history = new WireHistory();
        private final Scenario scenario;
        private final boolean isShort;
        private final Duration loadLimit;
        private final Duration storeLimit;
        private final BucketTier tier;
        private int begun;
        private boolean isDamageKnown;

        Run(S3ClientLibrary client, Scenario scenario, Duration requestTimeout) throws IOException {
            this.scenario = scenario;
            this.isShort = requestTimeout.equals(SHORT);
            this.loadLimit = requestTimeout.multipliedBy(3);
            this.storeLimit = requestTimeout.multipliedBy(16);
            this.tier = BucketTier.open(
                    history.config(client, requestTimeout, loadLimit).build());
            history.place(other, false, TestSeed.random("other"));
            switch (scenario.before) {
                case NOTHING -> {}
                case MINE -> history.place(own, false, TestSeed.random("mine"));
                case THEIRS -> history.place(foreign, false, TestSeed.random("theirs"));
                case DAMAGE -> history.place(own, true, TestSeed.random("damage"));
            }
            connect();
        }

        /**
         * Creates the client, which may exceed a short deadline, and gives the proxy the body of
         * another key.
         */
        private void connect() {
            LoadResult result = tier.load(other.id());
            for (int i = 0; i < 1000 && result instanceof LoadResult.Unavailable; i++) {
                result = tier.load(other.id());
            }
            assertThat(result).isHitOf(other);
        }

        void call(FaultPlan plan) throws Exception {
            begun = history.faulty.requests();
            history.faulty.plan(plan);
            for (Call call : scenario.calls) {
                switch (call) {
                    case LOAD -> load();
                    case STORE -> store();
                    case LIST -> list();
                }
            }
            history.faulty.plan(FaultPlan.SOUND);
        }

        private LoadResult load() throws InterruptedException {
            LoadResult before = history.readSound(own.id());
            long start = System.nanoTime();
            LoadResult result = tier.load(own.id());
            WireHistory.assertInTime(start, loadLimit);
            new ResultOracle(before, history.readSound(own.id()), wasLiedTo(), false)
                    .verify(result);
            if (result instanceof LoadResult.Unavailable) {
                assertFalse(wasTransient(), "a transient fault is visible to a lookup");
            }
            isDamageKnown |=
                    result instanceof LoadResult.Damaged && before instanceof LoadResult.Damaged;
            return result;
        }

        private StoreResult store() throws InterruptedException {
            LoadResult before = history.readSound(own.id());
            long start = System.nanoTime();
            StoreResult result = tier.store(own);
            WireHistory.assertInTime(start, storeLimit);
            new ResultOracle(before, history.readSound(own.id()), wasLiedTo(), false)
                    .verify(result, own, isDamageKnown);
            return result;
        }

        private void list() {
            List<String> listed = new ArrayList<>();
            long start = System.nanoTime();
            try {
                tier.list((EntryCatalog.Listed entry) -> listed.add(entry.hash().hex()));
                assertEquals(
                        Stream.of(own, other)
                                .map(entry -> entry.id().hash().hex())
                                .sorted()
                                .toList(),
                        listed.stream().sorted().toList(),
                        "a complete listing");
            } catch (IOException e) {
                assertTrue(faults().findAny().isPresent(), e::toString);
                assertTrue(List.of(own.id().hash().hex(), other.id().hash().hex())
                        .containsAll(listed));
            }
            WireHistory.assertInTime(start, loadLimit);
        }

        /**
         * Checks that the same tier has recovered after one lookup and one store without faults.
         * With requests limited to {@link #SHORT}, a busy machine may be too slow, so a second
         * attempt is allowed.
         */
        void heal() throws Exception {
            long end = System.nanoTime() + TIME_LIMIT.toNanos();
            while (true) {
                try {
                    recoverAtOnce();
                    return;
                } catch (AssertionError e) {
                    if (!isShort || System.nanoTime() > end) {
                        throw e;
                    }
                }
            }
        }

        private void recoverAtOnce() throws Exception {
            load();
            StoreResult stored = store();
            assertThat(stored).isAcknowledged();
            assertThat(load()).isHit();
            assertEquals(1, history.objects(own.id()));
            assertEquals(BucketTierStatistics.Breaker.CLOSED, tier.statistics().breaker());
            history.compareRequests(List.of(tier));
        }

        List<S3Request> requests() {
            return history.faulty.exchanges().stream()
                    .skip(begun)
                    .map(FaultyS3.Exchange::request)
                    .toList();
        }

        private Stream<Fault> faults() {
            return history.faulty.exchanges().stream()
                    .map(FaultyS3.Exchange::fault)
                    .filter(fault -> !(fault instanceof Fault.None));
        }

        private boolean wasLiedTo() {
            return faults().anyMatch(Fault::isFalse);
        }

        /** Returns true if only faults occurred after which an immediate retry succeeds. */
        private boolean wasTransient() {
            return faults().allMatch(fault -> switch (fault) {
                case Fault.Lost lost -> lost.failure().isTransient() && !fault.isSilent();
                case Fault.AnswerLost lost -> lost.failure().isTransient() && !fault.isSilent();
                case Fault.Delayed _ -> true;
                case Fault.Changed changed -> changed.change() == Fault.Change.TRUNCATED;
                case Fault.None _,
                        Fault.Meanwhile _,
                        Fault.AnswerLostThen _,
                        Fault.Late _,
                        Fault.Conflicting _,
                        Fault.PreconditionFailed _,
                        Fault.Blank _,
                        Fault.Page _,
                        Fault.Conditioned _ -> false;
            });
        }

        @Override
        public void close() {
            tier.close();
            history.close();
        }
    }
}
