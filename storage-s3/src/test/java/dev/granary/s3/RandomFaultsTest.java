package dev.granary.s3;

import static dev.granary.testing.CacheAssertions.assertThat;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.cache.Entry;
import dev.granary.cache.Id;
import dev.granary.cache.LoadResult;
import dev.granary.cache.Sha256;
import dev.granary.cache.StoreResult;
import dev.granary.cache.contract.TestEntries;
import dev.granary.s3.config.S3ClientLibrary;
import dev.granary.s3.contract.Fault;
import dev.granary.s3.contract.FaultPlan;
import dev.granary.s3.contract.TestS3;
import dev.granary.testing.TestRuns;
import dev.granary.testing.TestSeed;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Predicate;
import java.util.function.Supplier;

/** Tests of several machines with many concurrent faults, drawn from the seed. */
class RandomFaultsTest {
    private static final int ROUNDS = TestRuns.count(1);
    private static final Duration REQUEST = Duration.ofMillis(250);
    private static final Duration PATIENCE = Duration.ofMinutes(1); // longer than any pause
    private static final Duration DEADLINE = Duration.ofMillis(600);
    private static final int CALLS = 6;

    @Test
    @DisplayName("thousands of random histories: right bytes, true results, exact"
            + " counters, and recovery")
    void histories() {
        TestRuns.numbers(150).forEach(run -> {
            String name = "history " + run;
            try {
                new InMemoryHistory(TestSeed.random(name), new TestEntries(name)).run();
            } catch (RuntimeException | AssertionError e) {
                throw new AssertionError(name + ", " + TestRuns.replay(run), e);
            }
        });
    }

    @Test
    @DisplayName("two concurrent writers and two readers through both clients, on the"
            + " wire: the same")
    void rounds() throws Exception {
        long start = System.nanoTime();
        SplittableRandom random = TestSeed.random("rounds");
        try (WireHistory history = new WireHistory();
                ExecutorService threads = Executors.newFixedThreadPool(4)) {
            List<Machine> machines = List.of(
                    new Machine(history, S3ClientLibrary.AWS, true),
                    new Machine(history, S3ClientLibrary.MINIO, true),
                    new Machine(history, S3ClientLibrary.AWS, false),
                    new Machine(history, S3ClientLibrary.MINIO, false));
            Entry other = new TestEntries("other").entry(100);
            history.place(other, false, random);
            // each client exists, and the body of another key is known
            machines.forEach(machine -> machine.awaitHit(other.id()));
            for (int round = 0; round < ROUNDS; round++) {
                boolean isHonest = random.nextBoolean();
                List<Fault> faults = TestS3.server().faults().stream()
                        .filter(fault -> !isHonest || !fault.isFalse())
                        .toList();
                new Round("round " + round, history, isHonest)
                        .run(
                                machines,
                                threads,
                                FaultPlan.drawn(
                                        random.split(), random.nextDouble(0.02, 0.4), faults));
            }
            history.compareRequests(
                    machines.stream().map(machine -> machine.tier).toList());
            machines.forEach(machine -> machine.tier.close());
            System.out.println("granary.faults: " + ROUNDS + " rounds on the wire, "
                    + history.faulty.requests() + " requests, in "
                    + (System.nanoTime() - start) / 1_000_000 + " ms, seed " + TestSeed.VALUE);
        }
    }

    /** A tier on the faulty path, and its results. */
    private static final class Machine {
        private final BucketTier tier;
        private final boolean isWriter;

        Machine(WireHistory history, S3ClientLibrary client, boolean isWriter) {
            this.tier = BucketTier.open(history.config(client, REQUEST, DEADLINE)
                    .absentMemory(Duration.ZERO)
                    .build());
            this.isWriter = isWriter;
        }

        LoadResult load(Id id) {
            long start = System.nanoTime();
            LoadResult result = tier.load(id);
            WireHistory.assertInTime(start, DEADLINE);
            return result;
        }

        StoreResult store(Entry entry) {
            long start = System.nanoTime();
            StoreResult result = tier.store(entry);
            WireHistory.assertInTime(start, REQUEST.multipliedBy(16));
            return result;
        }

        /**
         * Repeats a lookup until it hits: on a busy machine the short deadline of these tests may
         * pass without a fault, and the circuit breaker then rejects requests for a while.
         */
        Entry awaitHit(Id id) {
            return assertThat(repeat(() -> load(id), result -> result instanceof LoadResult.Hit))
                    .isHit();
        }

        /** Repeats a store until its result is conclusive. */
        StoreResult awaitStored(Entry entry) {
            return repeat(
                    () -> store(entry),
                    result -> !(result instanceof StoreResult.Failed
                            || result instanceof StoreResult.Unknown
                            || result instanceof StoreResult.Refused));
        }

        private static <R> R repeat(Supplier<R> request, Predicate<R> isDone) {
            long start = System.nanoTime();
            R result = request.get();
            while (!isDone.test(result) && System.nanoTime() - start < PATIENCE.toNanos()) {
                LockSupport.parkNanos(Duration.ofMillis(10).toNanos());
                result = request.get();
            }
            return result;
        }
    }

    /** Some new ids, which all machines use concurrently. */
    private static final class Round {
        private final String name;
        private final WireHistory history;
        private final boolean isHonest;
        private final TestEntries entries;
        private final Entry[][] mine = new Entry[4][3];
        private final Set<List<Sha256>> seen = ConcurrentHashMap.newKeySet(); // id, content

        Round(String name, WireHistory history, boolean isHonest) {
            this.name = name;
            this.history = history;
            this.isHonest = isHonest;
            this.entries = new TestEntries(name);
        }

        void run(List<Machine> machines, ExecutorService threads, FaultPlan plan) throws Exception {
            for (int id = 0; id < mine[0].length; id++) {
                mine[0][id] = entries.entry(300);
                for (int machine = 1; machine < mine.length; machine++) {
                    mine[machine][id] = entries.entry(mine[0][id].id(), 300 + machine);
                }
            }
            history.faulty.plan(plan);
            List<Future<?>> all = new ArrayList<>();
            for (int m = 0; m < machines.size(); m++) {
                int number = m;
                SplittableRandom random = TestSeed.random(name + "/" + m);
                all.add(threads.submit(() -> work(machines.get(number), mine[number], random)));
            }
            for (Future<?> one : all) {
                one.get();
            }
            history.faulty.plan(FaultPlan.SOUND);
            assertTrue(history.faulty.awaitIdle(Duration.ofMinutes(5)));
            for (int id = 0; id < mine[0].length; id++) {
                heal(machines, id);
            }
        }

        private void work(Machine machine, Entry[] entries, SplittableRandom random) {
            for (int i = 0; i < CALLS; i++) {
                Entry entry = entries[random.nextInt(entries.length)];
                if (machine.isWriter && random.nextBoolean()) {
                    if (machine.store(entry) instanceof StoreResult.Stored) {
                        seen.add(List.of(entry.id().hash(), entry.contentHash()));
                    }
                } else if (machine.load(entry.id()) instanceof LoadResult.Hit(Entry found)) {
                    seen.add(List.of(found.id().hash(), found.contentHash()));
                }
            }
        }

        private void heal(List<Machine> machines, int id) throws InterruptedException {
            Id thisId = mine[0][id].id();
            for (int m = 0; m < machines.size(); m++) {
                if (machines.get(m).isWriter) {
                    machines.get(m).load(thisId);
                    machines.get(m).awaitStored(mine[m][id]);
                }
            }
            Entry there = assertThat(history.readSound(thisId)).isHit();
            assertTrue(
                    there.contentHash().equals(mine[0][id].contentHash())
                            || there.contentHash().equals(mine[1][id].contentHash()),
                    name);
            for (Machine machine : machines) {
                assertEquals(there.contentHash(), machine.awaitHit(thisId).contentHash(), name);
            }
            assertEquals(1, history.objects(thisId), name);
            for (List<Sha256> one : seen) {
                if (one.get(0).equals(thisId.hash())) {
                    assertTrue(
                            isHonest
                                    ? one.get(1).equals(there.contentHash())
                                    : one.get(1).equals(mine[0][id].contentHash())
                                            || one.get(1).equals(mine[1][id].contentHash()),
                            () -> name + ": an entry other than the first, which stays, was read");
                }
            }
        }
    }
}
