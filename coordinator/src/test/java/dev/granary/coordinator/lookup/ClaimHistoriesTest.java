package dev.granary.coordinator.lookup;

import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.cache.Id;
import dev.granary.cache.LoadResult;
import dev.granary.cache.contract.TestEntries;
import dev.granary.cache.support.ClaimStore;
import dev.granary.cache.support.Ticker;
import dev.granary.coordinator.FakeBucket;
import dev.granary.coordinator.observe.Counters;
import dev.granary.coordinator.statistics.Counter;
import dev.granary.coordinator.tier.CompileTimes;
import dev.granary.coordinator.tier.TestTiers;
import dev.granary.coordinator.tier.Tiers.Layer;
import dev.granary.coordinator.tier.TimeBudget;
import dev.granary.s3.BucketTier;
import dev.granary.s3.config.S3Config;
import dev.granary.s3.contract.MemoryObjectStore;
import dev.granary.testing.TestRuns;
import dev.granary.testing.TestSeed;
import dev.granary.testing.TestTicker;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.SplittableRandom;
import java.util.concurrent.Semaphore;

/**
 * Random histories of machines that need one absent kernel, in virtual time: machines come at any
 * moment, and those that compile are killed or suspended, or fail.
 */
@Timeout(3600)
class ClaimHistoriesTest {
    private static final Duration LONG = Duration.ofMinutes(2);

    /** Fate of a compile. */
    private enum Fate {
        SUCCEEDS,
        FAILS,
        IS_KILLED,
        IS_SUSPENDED
    }

    /** One history; only one machine runs at a time, until it waits. */
    private static final class History {
        final SplittableRandom random;
        final MemoryObjectStore objects = new MemoryObjectStore();
        final Id id;
        final List<Machine> machines = new ArrayList<>();
        final Semaphore control = new Semaphore(0);
        final List<String> trace = new ArrayList<>();
        final Layer layer = TestTiers.layer(
                new FakeBucket(), new TimeBudget(new CompileTimes(), Duration.ofMinutes(10)));
        final Duration compile;
        final boolean isKnown;
        long nanos;
        int compiles;
        int disturbed;

        History(int number) {
            this.random = new SplittableRandom(TestSeed.VALUE ^ number);
            this.id = TestEntries.id("history " + number);
            this.isKnown = random.nextBoolean();
            this.compile = Duration.ofMillis(100 + random.nextInt(7_000));
            boolean isCalm = random.nextBoolean();
            for (int i = 0; i < 2 + random.nextInt(7); i++) {
                machines.add(new Machine(this, i, isCalm ? Fate.SUCCEEDS : fate()));
            }
        }

        private Fate fate() {
            List<Fate> fates = List.of(Fate.values());
            return fates.get(random.nextInt(fates.size()));
        }

        /** Runs the machine whose time comes first, until none is left. */
        void run() {
            machines.forEach(machine -> Thread.ofVirtual().start(machine::live));
            for (Optional<Machine> first = next(); first.isPresent(); first = next()) {
                Machine next = first.get();
                long before = nanos / 1_000_000;
                nanos = Math.max(nanos, next.wakes);
                objects.pass(Duration.ofMillis(nanos / 1_000_000 - before));
                next.turn.release();
                control.acquireUninterruptibly();
            }
            layer.tier().close();
            check();
        }

        private Optional<Machine> next() {
            return machines.stream()
                    .filter(machine -> !machine.isDone)
                    .min(Comparator.comparingLong(machine -> machine.wakes));
        }

        private void check() {
            long expired = machines.stream()
                    .mapToLong(
                            machine -> machine.counters.snapshot().get(Counter.FLEET_WAIT_EXPIRED))
                    .sum();
            expect(compiles >= 1 && compiles <= 1 + disturbed + expired, "too many compiles");
            expect(disturbed > 0 || compiles == 1, "two compiles without a reason");
            expect(disturbed > 1 || compiles <= 2, "more than one machine took over");
            for (Machine machine : machines) {
                expect(machine.failure.isEmpty(), machine + " failed: " + machine.failure);
                expect(
                        machine.hasEnded || machine.fate == Fate.IS_KILLED,
                        machine + " did not end");
                // unknown: 10 s, then 21 s; known: twice two compiles and a second
                Duration bound = isKnown
                        ? compile.multipliedBy(2).plusSeconds(1).multipliedBy(2)
                        : Duration.ofSeconds(31);
                expect(
                        machine.waited.compareTo(bound.plusMillis(100)) <= 0,
                        machine + " waited for " + machine.waited);
            }
        }

        private void expect(boolean holds, String violation) {
            assertTrue(
                    holds,
                    () -> violation + "; compile " + compile + (isKnown ? " known" : " unknown")
                            + "\n" + String.join("\n", trace));
        }

        void log(Machine machine, String event) {
            trace.add("%8.3f s %s %s".formatted(nanos / 1e9, machine, event));
        }
    }

    /** A machine, which is its own clock. */
    private static final class Machine implements Ticker {
        private final History history;
        private final int number;
        private final Fate fate;
        private final Semaphore turn = new Semaphore(0);
        private final Counters counters = new Counters();
        private volatile long wakes;
        private volatile boolean isDone;
        private volatile boolean hasEnded;
        private volatile Duration waited = Duration.ZERO;
        private volatile Optional<Throwable> failure = Optional.empty();

        Machine(History history, int number, Fate fate) {
            this.history = history;
            this.number = number;
            this.fate = fate;
            // most come at once
            this.wakes = history.random.nextInt(3) == 0
                    ? Duration.ofMillis(history.random.nextInt(20_000)).toNanos()
                    : history.random.nextInt(1_000_000);
        }

        void live() {
            turn.acquireUninterruptibly();
            try (BucketTier tier = new BucketTier(
                    S3Config.builder("bucket").build(),
                    _ -> history.objects,
                    new TestTicker(),
                    history.random.split())) {
                lookup(tier);
                hasEnded = true;
            } catch (Killed e) {
                history.log(this, "is killed");
            } catch (Throwable e) {
                failure = Optional.of(e);
            } finally {
                isDone = true;
                history.control.release();
            }
        }

        private void lookup(BucketTier tier) {
            ClaimStore store = tier.claims();
            if ((store.poll(history.id) instanceof LoadResult.Hit)) {
                history.log(this, "finds the entry");
                return;
            }
            CompileTimes times = new CompileTimes();
            if (history.isKnown) {
                times.compiled(history.compile.toNanos());
            }
            FleetClaims claims = new FleetClaims(
                    history.layer,
                    store,
                    false,
                    times,
                    LONG,
                    this,
                    counters,
                    TestTiers.NO_LISTENERS);
            long start = nanos();
            FleetClaims.Outcome outcome = claims.claim(history.id, true);
            waited = Duration.ofNanos(nanos() - start);
            if (outcome.stored().isPresent()) {
                history.log(this, "gets the entry of another");
                return;
            }
            history.log(this, "compiles: " + fate);
            history.compiles++;
            history.disturbed += fate == Fate.SUCCEEDS ? 0 : 1;
            pause(
                    fate == Fate.SUCCEEDS
                            ? history.compile
                            : history.compile.dividedBy(1 + history.random.nextInt(4)));
            switch (fate) {
                case IS_KILLED -> throw new Killed();
                case FAILS -> outcome.failed().run();
                case IS_SUSPENDED -> pause(Duration.ofMillis(history.random.nextInt(60_000)));
                case SUCCEEDS -> {}
            }
            if (fate != Fate.FAILS) {
                tier.store(new TestEntries("ClaimHistoriesTest").entry(history.id, 10));
                assertTrue(
                        (store.poll(history.id) instanceof LoadResult.Hit), "a stored entry stays");
                history.log(this, "has stored the entry");
            }
        }

        @Override
        public long nanos() {
            return history.nanos;
        }

        @Override
        public void pause(Duration duration) {
            wakes = history.nanos + duration.toNanos();
            history.control.release();
            turn.acquireUninterruptibly();
        }

        @Override
        public String toString() {
            return "machine " + number;
        }
    }

    /** The end of a machine. */
    private static final class Killed extends Error {
        private static final long serialVersionUID = 1;
    }

    @Test
    @DisplayName("One compile without a disturbance, two with one, and no wait beyond its bound")
    void histories() {
        TestRuns.numbers(100).forEach(number -> new History(number).run());
    }
}
