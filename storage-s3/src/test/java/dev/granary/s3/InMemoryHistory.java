package dev.granary.s3;

import static dev.granary.testing.CacheAssertions.assertThat;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.cache.Entry;
import dev.granary.cache.EntryCatalog;
import dev.granary.cache.Id;
import dev.granary.cache.LoadResult;
import dev.granary.cache.StoreResult;
import dev.granary.cache.contract.TestEntries;
import dev.granary.cache.format.EntryFormat;
import dev.granary.cache.format.EntryFormat.VerificationLevel;
import dev.granary.s3.config.S3Config;
import dev.granary.s3.contract.Fault;
import dev.granary.s3.contract.FaultPlan;
import dev.granary.s3.contract.MemoryObjectStore;
import dev.granary.s3.layout.BucketLayout;
import dev.granary.s3.probe.ConditionalWriteSupport;
import dev.granary.testing.TestTicker;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.SplittableRandom;

/**
 * One random history of two writers and two readers over one in-memory store, sequential, under
 * random faults. One generator supplies all randomness, and no real time passes, so a history is
 * reproducible.
 */
final class InMemoryHistory {
    private static final Duration PAUSE = Duration.ofSeconds(20);
    private static final Duration LONGER_THAN_ANY_PAUSE = PAUSE.plusSeconds(5);
    private static final int WRITERS = 2;
    private static final int TIERS = 4;
    private static final int IDS = 3;

    private final SplittableRandom random;
    private final MemoryObjectStore store = new MemoryObjectStore();
    private final TestTicker ticker = new TestTicker();
    private final S3Config config;
    private final BucketLayout layout;
    private final List<Machine> machines = new ArrayList<>();
    private final List<Id> ids = new ArrayList<>();
    private final boolean remembersAbsence;
    private boolean wasLiedTo;

    /** A tier, its entries to store, and its results. */
    private final class Machine {
        private final BucketTier tier = new BucketTier(config, _ -> store, ticker, random.split());
        private final List<Entry> entries = new ArrayList<>();
        private final Set<Id> knownDamage = new HashSet<>();
    }

    InMemoryHistory(SplittableRandom random, TestEntries entries) {
        this.random = random;
        this.remembersAbsence = random.nextBoolean();
        this.config = S3Config.builder("bucket")
                .prefix("trial")
                .breakerPause(PAUSE)
                .refreshInterval(Duration.ZERO)
                .absentMemory(remembersAbsence ? PAUSE : Duration.ZERO)
                .build();
        this.layout = new BucketLayout(config.location());
        store.place(layout.marker(), TestProcess.marker(config, ConditionalWriteSupport.FULL));
        for (int i = 0; i < IDS; i++) {
            ids.add(entries.id());
        }
        for (int m = 0; m < TIERS; m++) {
            Machine machine = new Machine();
            ids.forEach(id -> machine.entries.add(entries.entry(id, 1 + random.nextInt(300))));
            machines.add(machine);
        }
    }

    void run() {
        List<Fault> faults = random.nextBoolean() ? Fault.each() : Fault.honest();
        FaultPlan drawn = FaultPlan.drawn(random.split(), random.nextDouble(0.02, 0.6), faults);
        store.plan(request -> {
            Fault fault = drawn.next(request);
            wasLiedTo |= fault.isFalse();
            return fault;
        });
        int steps = random.nextInt(10, 40);
        for (int i = 0; i < steps; i++) {
            step();
        }
        heal();
        RequestAccounting.compareRequests(
                machines.stream().map(machine -> machine.tier).toList(), store.requests());
    }

    private void step() {
        int number = random.nextInt(TIERS);
        Machine machine = machines.get(number);
        int id = random.nextInt(IDS);
        if (random.nextBoolean()) {
            store.land();
        }
        wasLiedTo = false;
        switch (random.nextInt(20)) {
            case 0 -> ticker.pass(LONGER_THAN_ANY_PAUSE);
            case 1 -> damage(ids.get(id));
            case 2 -> store.remove(layout.entry(ids.get(id))); // a lifecycle rule of the owner
            case 3 -> list(machine);
            case 4, 5, 6, 7, 8, 9 -> {
                if (number < WRITERS) {
                    store(machine, id);
                } else {
                    load(machine, id);
                }
            }
            default -> load(machine, id);
        }
    }

    private LoadResult load(Machine machine, int number) {
        Id id = ids.get(number);
        boolean isDisturbed = store.underWay() > 0;
        LoadResult before = there(id);
        LoadResult result = machine.tier.load(id);
        if (!(result instanceof LoadResult.Absent && remembersAbsence)) {
            new ResultOracle(before, there(id), wasLiedTo, isDisturbed).verify(result);
        }
        if (result instanceof LoadResult.Damaged && before instanceof LoadResult.Damaged) {
            machine.knownDamage.add(id);
        }
        return result;
    }

    private StoreResult store(Machine machine, int number) {
        Entry own = machine.entries.get(number);
        boolean isDisturbed = store.underWay() > 0;
        LoadResult before = there(own.id());
        StoreResult result = machine.tier.store(own);
        new ResultOracle(before, there(own.id()), wasLiedTo, isDisturbed)
                .verify(result, own, machine.knownDamage.contains(own.id()));
        if (result instanceof StoreResult.Stored
                || result instanceof StoreResult.Duplicate
                || result instanceof StoreResult.Divergent) {
            machine.knownDamage.remove(own.id());
        }
        return result;
    }

    private void list(Machine machine) {
        List<String> listed = new ArrayList<>();
        try {
            machine.tier.list(
                    (EntryCatalog.Listed entry) -> listed.add(entry.hash().hex()));
            assertEquals(
                    ids.stream()
                            .map(id -> id.hash().hex())
                            .filter(hash -> !keys(hash).isEmpty())
                            .sorted()
                            .toList(),
                    listed.stream().sorted().toList());
        } catch (IOException e) {
            assertTrue(listed.size() <= IDS, e::toString);
        }
    }

    private void damage(Id id) {
        String key = layout.entry(id);
        if (store.keys().contains(key)) {
            byte[] body = store.body(key);
            body[ResultOracle.damagedByte(random, body.length)] ^= (byte) (1 << random.nextInt(8));
            store.place(key, body);
        }
    }

    /**
     * Checks that without faults, after one lookup and one store by each writer, all machines hit
     * the same sound entry.
     */
    private void heal() {
        store.plan(FaultPlan.SOUND);
        store.land();
        wasLiedTo = false;
        for (int i = 0; i < 5; i++) { // a circuit breaker closes after some successes
            ticker.pass(LONGER_THAN_ANY_PAUSE);
            machines.forEach(machine -> load(machine, 0));
        }
        for (int id = 0; id < IDS; id++) {
            for (Machine writer : machines.subList(0, WRITERS)) {
                load(writer, id);
                StoreResult stored = store(writer, id);
                assertThat(stored).isAcknowledged();
            }
            ticker.pass(LONGER_THAN_ANY_PAUSE);
            for (Machine machine : machines) {
                LoadResult healed = load(machine, id);
                assertThat(healed).isHit();
            }
            assertEquals(
                    List.of(layout.entry(ids.get(id))), keys(ids.get(id).hash().hex()));
        }
    }

    private List<String> keys(String hash) {
        return store.keys().stream().filter(key -> key.contains(hash)).toList();
    }

    private LoadResult there(Id id) {
        String key = layout.entry(id);
        return store.keys().contains(key)
                ? EntryFormat.decode(
                        MemorySegment.ofArray(store.body(key)), id, VerificationLevel.CONTENT_HASH)
                : LoadResult.ABSENT;
    }
}
