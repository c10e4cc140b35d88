package dev.granary.local;

import static dev.granary.testing.CacheAssertions.assertThat;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.cache.Entry;
import dev.granary.cache.Id;
import dev.granary.cache.KernelBinaries;
import dev.granary.cache.LoadResult;
import dev.granary.cache.StoreResult;
import dev.granary.cache.contract.TestEntries;
import dev.granary.local.config.EvictionPolicy;
import dev.granary.local.config.LocalDirectoryException;
import dev.granary.local.config.LocalTierConfig;
import dev.granary.local.directory.BootId;
import dev.granary.local.file.StoreStep;
import dev.granary.testing.TestSeed;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SplittableRandom;

/**
 * Tests of power cuts. No write is synced, so after a power cut every page of every file may be of
 * any earlier moment. Files may be missing, short, or removed files may be back. The images are
 * made at random from copies of a directory in use.
 */
@Timeout(600)
final class PowerCutTest {
    private static final int TREES = Integer.getInteger("granary.powercut.trees", 110);
    // taken at random, besides those in the middle and at the end
    private static final int COPIES = 5;
    private static final int STEPS = 7; // per operation, about
    private static final int LAST = 70; // operations during which more copies are taken
    private static final int PLENTY = 64 << 20;
    private static final int MOST_PASSES = 3;

    private final Map<Id, Set<KernelBinaries>> stored = new HashMap<>();
    private final Map<Id, Entry> latest = new HashMap<>();
    private final List<DirectoryImage> copies = new ArrayList<>();

    private SplittableRandom random = new SplittableRandom();

    @TempDir
    private Path temporary;

    /**
     * Parameters: entries of at most {@code bytes} for {@code ids} ids, in a tier of
     * {@code kibibytes}. Few large entries fill segments and are evicted; many small ones let the
     * index grow. {@code restarted} is true if the system reports a new boot.
     */
    @ParameterizedTest
    @CsvSource({
        "60, 30000, 1200, 1000, true",
        "60, 30000, 1200, 1000, false",
        "300, 3000, 700, 1500, true",
        "300, 3000, 700, 1500, false",
        "3200, 60, 4000, 4200, true",
        "3200, 60, 4000, 4200, false"
    })
    @DisplayName(
            "D4 after a power cut: right bytes or a miss, never an exception, and everything can"
                    + " be stored again")
    void powerCut(int ids, int bytes, int kibibytes, int operations, boolean restarted)
            throws Exception {
        random = TestSeed.random("PowerCutTest " + ids + restarted);
        work(
                ids,
                bytes,
                kibibytes << 10,
                operations,
                restarted ? BootId.mark() + 1 : BootId.mark());
        long hits = 0;
        int trees = Math.max(1, ids > 1000 ? TREES / 20 : ids > 100 ? TREES / 4 : TREES / 5);
        for (int i = 0; i < trees; i++) {
            Path crashed = temporary.resolve("crashed" + i % 3);
            int pages = random.nextInt(4);
            crash(pages).writeTo(crashed);
            String what = "tree " + i + " of " + ids + " ids" + (restarted ? ", restarted" : "");
            try {
                hits += recover(crashed, restarted, what);
                // an id may have entries of two ages: one hits, both are evicted in time
                StoreInvariants.checkFiles(crashed);
                empty(crashed);
            } catch (AssertionError | RuntimeException e) {
                throw new AssertionError(what + ": " + e.getMessage(), e);
            }
        }
        System.out.println(trees + " crashed trees of " + ids + " ids: of "
                + (long) trees * stored.size() + " lookups " + hits + " hits");
        assertTrue(hits > 0, "the trees are so broken that nothing is shown");
    }

    /** Uses a directory at random and copies it at times. */
    private void work(int ids, int bytes, long capacity, int operations, long boot)
            throws Exception {
        Path directory = temporary.resolve("cache");
        LocalTierConfig config = LocalTierConfig.builder(directory)
                .capacityBytes(capacity)
                .policy(EvictionPolicy.FIFO)
                .background(Runnable::run)
                .build();
        copies.add(DirectoryImage.empty());
        StoreStep.Listener copying = _ -> {
            // also in the middle of operations
            if (random.nextInt(operations * STEPS / COPIES) == 0) {
                copy(directory);
            }
        };
        try (LocalTier tier = LocalTier.open(config, boot, Id::hash, copying)) {
            for (int i = 0; i < operations; i++) {
                Id id = TestEntries.id("power-" + (i < ids ? i : random.nextInt(ids)));
                switch (random.nextInt(100)) {
                    case 0 -> sweep(tier, operations - i);
                    case 1, 2, 3, 4 -> {
                        Entry known = latest.get(id);
                        if (known != null) {
                            tier.discard(known);
                        }
                    }
                    default -> store(tier, version(id, 1 + random.nextInt(bytes)));
                }
                if (i == operations / 5 && bytes > 100) {
                    tier.clear();
                }
                // mostly the last operations, all in one segment as a rule
                if (i == operations / 2 || (operations - i < LAST && i % 17 == 0)) {
                    copy(directory);
                }
            }
            copy(directory);
        }
        copy(directory);
    }

    private void sweep(LocalTier tier, int left) {
        if (left > LAST) { // towards the end the store only grows
            assertTrue(tier.sweepNow());
        }
    }

    private void copy(Path directory) {
        try {
            copies.add(DirectoryImage.of(directory));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /**
     * Returns an entry, with varying content of the same length: a torn mix of two looks sound
     * except for its checksum.
     */
    private Entry version(Id id, int bytes) {
        byte[] binary = new byte[bytes];
        random.nextBytes(binary);
        return TestEntries.entry(id, KernelBinaries.of(binary));
    }

    private void store(LocalTier tier, Entry entry) {
        stored.computeIfAbsent(entry.id(), _ -> new HashSet<>()).add(entry.binaries());
        latest.put(entry.id(), entry);
        StoreResult result = tier.store(entry);
        assertThat(result).isStored();
    }

    /**
     * Returns an image that a power cut may leave. 0 keeps each file whole, of any age; higher
     * numbers mix pages of more ages.
     */
    private DirectoryImage crash(int mixed) {
        Set<String> names = new HashSet<>();
        copies.forEach(copy -> names.addAll(copy.names()));
        DirectoryImage crashed = DirectoryImage.empty();
        int last = copies.size() - 1;
        for (String name : names) {
            DirectoryImage presence =
                    copies.get(random.nextInt(3) == 0 ? random.nextInt(copies.size()) : last);
            List<DirectoryImage> having =
                    copies.stream().filter(copy -> copy.has(name)).toList();
            // otherwise it was never created, or stays removed
            if (presence.has(name) || random.nextInt(3) == 0) {
                crashed = crashed.with(name, mix(name, having, mixed));
            }
        }
        return crashed;
    }

    private byte[] mix(String name, List<DirectoryImage> having, int mixed) {
        byte[] whole = having.get(random.nextInt(having.size())).get(name);
        byte[] newest = having.getLast().get(name);
        if (mixed == 0) {
            return whole;
        }
        byte[] result = new byte[random.nextInt(3) == 0 ? whole.length : newest.length];
        for (int at = 0; at < result.length; at += DirectoryImage.PAGE) {
            byte[] from = random.nextInt(4) < mixed
                    ? having.get(random.nextInt(having.size())).get(name)
                    : newest;
            boolean lost = random.nextInt(40) < mixed; // never written
            if (!lost && from.length > at) {
                System.arraycopy(
                        from,
                        at,
                        result,
                        at,
                        Math.min(DirectoryImage.PAGE, Math.min(result.length, from.length) - at));
            }
        }
        return result;
    }

    /**
     * Opens a crashed image, looks up and stores everything again; returns the number of initial
     * hits.
     */
    private int recover(Path crashed, boolean restarted, String what)
            throws IOException, LocalDirectoryException {
        LocalTierConfig config = LocalTierConfig.builder(crashed)
                .capacityBytes(PLENTY)
                .policy(EvictionPolicy.FIFO)
                .background(Runnable::run)
                .build();
        // with this boot's mark, which only a restarted directory lacks
        try (LocalTier tier = LocalTier.open(config)) {
            boolean storesFirst = random.nextInt(4) == 0;
            int hits = storesFirst ? 0 : hits(tier, what);
            if (random.nextBoolean()) {
                assertTrue(tier.sweepNow(), what);
                hits(tier, what);
            }
            // If the append position is older than the index, new entries overwrite old ones until
            // that is detected. Not after a reboot.
            int passes = 0;
            do {
                assertTrue(
                        passes++ < (restarted ? 1 : MOST_PASSES),
                        what + ": a stored entry is missing");
                for (Entry entry : latest.values()) {
                    StoreResult result = tier.store(entry);
                    assertThat(result).as(what).isStoredOrDuplicate();
                }
                assertTrue(
                        !restarted || tier.usedBytes() == StoreInvariants.entryBytes(tier),
                        () -> what + ": counted wrong");
            } while (hits(tier, what) < latest.size());
            assertTrue(tier.sweepNow(), what);
            assertEquals(latest.size(), hits(tier, what), what + ", swept");
            return hits;
        }
    }

    /** Checks that everything that is left can be evicted. */
    private static void empty(Path crashed) throws LocalDirectoryException {
        try (LocalTier tier = LocalTier.open(LocalTierConfig.builder(crashed)
                .capacityBytes(PLENTY)
                .background(Runnable::run)
                .build())) {
            tier.setCapacity(0);
            assertEquals(0, tier.usedBytes());
        }
    }

    private int hits(LocalTier tier, String what) {
        int hits = 0;
        for (var known : stored.entrySet()) {
            LoadResult result = tier.load(known.getKey());
            if (result instanceof LoadResult.Hit hit) {
                hits++;
                assertTrue(
                        known.getValue().contains(hit.entry().binaries()),
                        () -> what + ": bytes that were never stored");
            }
        }
        return hits;
    }
}
