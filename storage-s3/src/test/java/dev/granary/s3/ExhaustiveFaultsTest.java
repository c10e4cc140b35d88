package dev.granary.s3;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.cache.Entry;
import dev.granary.cache.EntryCatalog;
import dev.granary.cache.LoadResult;
import dev.granary.cache.StoreResult;
import dev.granary.cache.contract.PersistentCacheContract;
import dev.granary.cache.contract.TestEntries;
import dev.granary.s3.config.S3ClientLibrary;
import dev.granary.s3.contract.Fault;
import dev.granary.s3.contract.FaultPlan;
import dev.granary.s3.contract.FaultyS3;
import dev.granary.s3.contract.S3Request;
import dev.granary.s3.contract.TestS3;
import dev.granary.s3.statistics.BucketTierStatistics;
import dev.granary.testing.TestSeed;
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
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Tests every fault at every request of every scenario of publishing and looking up, on both
 * transports. A run without faults yields the requests of a scenario; it is then repeated with each
 * fault at each of them.
 */
class ExhaustiveFaultsTest {
    private static final int AT_ONCE = 12; // most of them wait
    private static final Duration LONG = Duration.ofSeconds(30);
    private static final Duration SHORT = Duration.ofMillis(400);
    private static final Duration PATIENCE = Duration.ofMinutes(5);

    /** Initial content and operation. */
    enum Course {
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

        Course(Before before, Call... calls) {
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
    private record Place(String operation, String keyInPlace, int number) {}

    private final TestEntries entries = new TestEntries(ExhaustiveFaultsTest.class.getName());
    private final Entry mine = entries.entry(600);
    private final Entry theirs = entries.entry(mine.id(), 700);
    private final Entry other = entries.entry(500);

    static Stream<Arguments> courses() {
        return Stream.of(S3ClientLibrary.values()).flatMap(client -> Stream.of(Course.values()).map(course -> Arguments.of(client, course)));
    }

    @ParameterizedTest
    @MethodSource("courses")
    @DisplayName("R2 R3 R6 R13 N4 any fault at any request: right bytes, true results, nothing hangs or throws, exact counters, and recovery")
    void everyFault(S3ClientLibrary client, Course course) throws Exception {
        List<Place> places = cleanRun(client, course);
        assertFalse(places.isEmpty());
        List<Future<?>> runs = new ArrayList<>();
        try (ExecutorService threads = Executors.newFixedThreadPool(AT_ONCE)) {
            for (Place place : places) {
                TestS3.server().faults().stream().filter(fault -> concerns(fault, place))
                        .forEach(fault -> runs.add(threads.submit(() -> run(client, course, place, fault))));
            }
            for (Future<?> run : runs) {
                run.get();
            }
        }
        System.out.println("granary.faults: " + client + " " + course + ": " + places.size() + " requests, " + runs.size() + " runs");
    }

    /** Returns false for faults of conditions at requests without one. */
    private static boolean concerns(Fault fault, Place place) {
        return !(fault instanceof Fault.Conditioned) || place.operation().startsWith("PUT ");
    }

    private List<Place> cleanRun(S3ClientLibrary client, Course course) throws Exception {
        List<Place> places = new ArrayList<>();
        try (Run run = new Run(client, course, LONG)) {
            run.call(FaultPlan.SOUND);
            Map<List<String>, Integer> numbers = new HashMap<>();
            for (S3Request request : run.requests()) {
                String key = request.key().substring(run.trial.prefix().length());
                int number = numbers.merge(List.of(request.operation(), key), 1, Integer::sum) - 1;
                places.add(new Place(request.operation(), key, number));
            }
            run.heal();
        }
        return places;
    }

    private Void run(S3ClientLibrary client, Course course, Place place, Fault fault) throws Exception {
        try (Run run = new Run(client, course, fault.isSilent() ? SHORT : LONG)) {
            run.call(FaultPlan.once(request -> request.operation().equals(place.operation())
                    && request.key().equals(run.trial.prefix() + place.keyInPlace()), place.number(), fault));
            run.heal();
        } catch (Exception | AssertionError e) {
            throw new AssertionError(fault + " at " + place + " of " + course + " through " + client, e);
        }
        return null;
    }

    /** One run of a scenario. */
    private final class Run implements AutoCloseable {
        private final WireHistory trial = new WireHistory();
        private final Course course;
        private final boolean isShort;
        private final Duration loadLimit;
        private final Duration storeLimit;
        private final BucketTier tier;
        private int begun;
        private boolean isDamageKnown;

        Run(S3ClientLibrary client, Course course, Duration requestTimeout) throws IOException {
            this.course = course;
            this.isShort = requestTimeout.equals(SHORT);
            this.loadLimit = requestTimeout.multipliedBy(3);
            this.storeLimit = requestTimeout.multipliedBy(16);
            this.tier = BucketTier.open(trial.config(client, requestTimeout, loadLimit).build());
            trial.place(other, false, TestSeed.random("other"));
            switch (course.before) {
                case NOTHING -> { }
                case MINE -> trial.place(mine, false, TestSeed.random("mine"));
                case THEIRS -> trial.place(theirs, false, TestSeed.random("theirs"));
                case DAMAGE -> trial.place(mine, true, TestSeed.random("damage"));
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
            PersistentCacheContract.assertHit(other, result);
        }

        void call(FaultPlan plan) throws Exception {
            begun = trial.faulty.requests();
            trial.faulty.plan(plan);
            for (Call call : course.calls) {
                switch (call) {
                    case LOAD -> load();
                    case STORE -> store();
                    case LIST -> list();
                }
            }
            trial.faulty.plan(FaultPlan.SOUND);
        }

        private LoadResult load() throws InterruptedException {
            LoadResult before = trial.there(mine.id());
            long start = System.nanoTime();
            LoadResult result = tier.load(mine.id());
            WireHistory.assertInTime(start, loadLimit);
            new ResultOracle(before, trial.there(mine.id()), wasLiedTo(), false).judge(result);
            if (result instanceof LoadResult.Unavailable) {
                assertFalse(wasPassing(), "a fault that passes is seen by a look-up");
            }
            isDamageKnown |= result instanceof LoadResult.Damaged && before instanceof LoadResult.Damaged;
            return result;
        }

        private StoreResult store() throws InterruptedException {
            LoadResult before = trial.there(mine.id());
            long start = System.nanoTime();
            StoreResult result = tier.store(mine);
            WireHistory.assertInTime(start, storeLimit);
            new ResultOracle(before, trial.there(mine.id()), wasLiedTo(), false).judge(result, mine, isDamageKnown);
            return result;
        }

        private void list() {
            List<String> listed = new ArrayList<>();
            long start = System.nanoTime();
            try {
                tier.list((EntryCatalog.Listed entry) -> listed.add(entry.hash().hex()));
                assertEquals(Stream.of(mine, other).map(entry -> entry.id().hash().hex()).sorted().toList(),
                        listed.stream().sorted().toList(), "a listing that is whole");
            } catch (IOException e) {
                assertTrue(faults().findAny().isPresent(), e::toString);
                assertTrue(List.of(mine.id().hash().hex(), other.id().hash().hex()).containsAll(listed));
            }
            WireHistory.assertInTime(start, loadLimit);
        }

        /**
         * Checks that the same tier has recovered after one lookup and one store without faults.
         * With requests limited to {@link #SHORT}, a busy machine may be too slow, so a second
         * attempt is allowed.
         */
        void heal() throws Exception {
            long end = System.nanoTime() + PATIENCE.toNanos();
            while (true) {
                try {
                    healAtOnce();
                    return;
                } catch (AssertionError e) {
                    if (!isShort || System.nanoTime() > end) {
                        throw e;
                    }
                }
            }
        }

        private void healAtOnce() throws Exception {
            load();
            StoreResult stored = store();
            assertTrue(stored instanceof StoreResult.Stored || stored instanceof StoreResult.Duplicate
                    || stored instanceof StoreResult.Divergent, stored::toString);
            assertInstanceOf(LoadResult.Hit.class, load());
            assertEquals(1, trial.objects(mine.id()));
            assertEquals(BucketTierStatistics.Breaker.CLOSED, tier.statistics().breaker());
            trial.compareRequests(List.of(tier));
        }

        List<S3Request> requests() {
            return trial.faulty.exchanges().stream().skip(begun).map(FaultyS3.Exchange::request).toList();
        }

        private Stream<Fault> faults() {
            return trial.faulty.exchanges().stream().map(FaultyS3.Exchange::fault).filter(fault -> !(fault instanceof Fault.None));
        }

        private boolean wasLiedTo() {
            return faults().anyMatch(Fault::isFalse);
        }

        /** Returns true if only faults occurred after which an immediate retry succeeds. */
        private boolean wasPassing() {
            return faults().allMatch(fault -> switch (fault) {
                case Fault.Lost lost -> lost.failure().isTransient() && !fault.isSilent();
                case Fault.AnswerLost lost -> lost.failure().isTransient() && !fault.isSilent();
                case Fault.Delayed _ -> true;
                case Fault.Changed changed -> changed.change() == Fault.Change.TRUNCATED;
                case Fault.None _, Fault.Meanwhile _, Fault.AnswerLostThen _, Fault.Late _, Fault.Conflicting _, Fault.PreconditionFailed _,
                        Fault.Blank _, Fault.Page _, Fault.Conditioned _ -> false;
            });
        }

        @Override
        public void close() {
            tier.close();
            trial.close();
        }
    }
}
