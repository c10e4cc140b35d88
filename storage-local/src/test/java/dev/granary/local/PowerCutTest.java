package dev.granary.local;

import static dev.granary.testing.CacheAssertions.assertThat;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.cache.Entry;
import dev.granary.cache.Id;
import dev.granary.cache.KernelBinaries;
import dev.granary.cache.LoadResult;
import dev.granary.cache.contract.TestEntries;
import dev.granary.testing.TestRuns;
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
 * any earlier moment, or zeros. Files may be missing, empty, or short, and removed files may be
 * back. The images are made at random from copies of a directory in use.
 */
@Timeout(600)
final class PowerCutTest {
    private static final int IMAGES = TestRuns.count(20);
    private static final int STEPS = 4; // per operation, about
    private static final int COPIES = 12;
    private static final long PLENTY = 64 << 20;

    private final Map<Id, Set<KernelBinaries>> stored = new HashMap<>();
    private final Map<Id, Entry> latest = new HashMap<>();
    private final List<DirectoryImage> copies = new ArrayList<>();

    private SplittableRandom random = new SplittableRandom();

    @TempDir
    private Path temporary;

    /** Parameters: entries of at most {@code bytes} for {@code ids} ids, in so many KiB. */
    @ParameterizedTest
    @CsvSource({"60, 30000, 1200, 600", "200, 3000, 700, 900"})
    @DisplayName("after a power cut: right bytes or a miss, never an exception, and everything can"
            + " be stored again")
    void powerCut(int ids, int bytes, int kibibytes, int operations) throws Exception {
        random = TestSeed.random("PowerCutTest " + ids);
        work(ids, bytes, kibibytes << 10, operations);
        long hits = 0;
        int images = Math.max(1, ids > 100 ? IMAGES / 5 : IMAGES / 2);
        for (int i = 0; i < images; i++) {
            Path crashed = temporary.resolve("crashed" + i % 3);
            crash(i % 4).writeTo(crashed);
            try {
                hits += recover(crashed);
                StoreInvariants.checkAfterKill(crashed);
            } catch (AssertionError | RuntimeException e) {
                throw new AssertionError("image " + i + ": " + e.getMessage(), e);
            }
        }
        System.out.println(images + " images of " + ids + " ids: of "
                + (long) images * stored.size() + " lookups " + hits + " hits");
        assertTrue(hits > 0, "the images are so broken that nothing is shown");
    }

    /** Uses a directory at random and copies it at times, also in the middle of operations. */
    private void work(int ids, int bytes, long capacity, int operations) throws Exception {
        Path directory = temporary.resolve("cache");
        LocalTierConfig config = LocalTierConfig.builder(directory)
                .capacityBytes(capacity)
                .background(Runnable::run)
                .build();
        copies.add(DirectoryImage.empty());
        StoreStep.Listener copying = _ -> {
            if (random.nextInt(operations * STEPS / COPIES) == 0) {
                copy(directory);
            }
        };
        try (LocalTier tier = LocalTier.open(config, copying, bound -> bound - 1)) {
            for (int i = 0; i < operations; i++) {
                Id id = TestEntries.id("power-" + (i < ids ? i : random.nextInt(ids)));
                Entry known = latest.get(id);
                if (known != null && random.nextInt(20) == 0) {
                    tier.discard(known);
                } else {
                    byte[] binary = new byte[1 + random.nextInt(bytes)];
                    random.nextBytes(binary);
                    Entry entry = TestEntries.entry(id, KernelBinaries.of(binary));
                    stored.computeIfAbsent(id, _ -> new HashSet<>()).add(entry.binaries());
                    latest.put(id, entry);
                    assertThat(tier.store(entry)).isStored();
                }
                if (i == operations / 5) {
                    tier.clear();
                }
            }
        }
        copy(directory);
    }

    private void copy(Path directory) {
        try {
            copies.add(DirectoryImage.of(directory));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /**
     * Returns an image that a power cut may leave. 0 keeps each file whole, of any age; higher
     * numbers mix pages of more ages.
     */
    private DirectoryImage crash(int mixed) {
        Set<String> names = new HashSet<>();
        copies.forEach(copy -> names.addAll(copy.names()));
        DirectoryImage crashed = DirectoryImage.empty();
        for (String name : names) {
            DirectoryImage presence = random.nextInt(3) == 0
                    ? copies.get(random.nextInt(copies.size()))
                    : copies.getLast();
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
            return random.nextInt(10) == 0 ? new byte[0] : whole; // renamed before it was written
        }
        byte[] result = new byte[random.nextInt(3) == 0 ? whole.length : newest.length];
        for (int at = 0; at < result.length; at += DirectoryImage.PAGE) {
            byte[] from = random.nextInt(4) < mixed
                    ? having.get(random.nextInt(having.size())).get(name)
                    : newest;
            boolean lost = random.nextInt(40) < mixed; // never written
            if (!lost && from.length > at) {
                int end = Math.min(at + DirectoryImage.PAGE, Math.min(result.length, from.length));
                System.arraycopy(from, at, result, at, end - at);
            }
        }
        return result;
    }

    /** Looks up and stores everything again; returns the number of initial hits. */
    private int recover(Path crashed) throws IOException, LocalDirectoryException {
        LocalTierConfig config = LocalTierConfig.builder(crashed)
                .capacityBytes(PLENTY)
                .background(Runnable::run)
                .build();
        try (LocalTier tier = LocalTier.open(config)) {
            int hits = random.nextInt(4) == 0 ? 0 : hits(tier);
            if (random.nextBoolean()) {
                assertTrue(tier.enforceCapacity());
                hits(tier);
            }
            for (Entry entry : latest.values()) {
                assertThat(tier.store(entry)).isStoredOrDuplicate();
            }
            assertEquals(latest.size(), hits(tier));
            assertTrue(tier.enforceCapacity());
            assertEquals(latest.size(), hits(tier));
            tier.setCapacity(0);
            assertEquals(0, tier.usage().entries(), "everything that is left can be evicted");
            tier.setCapacity(PLENTY);
            assertThat(tier.store(latest.values().iterator().next())).isStored();
            return hits;
        }
    }

    private int hits(LocalTier tier) {
        int hits = 0;
        for (var known : stored.entrySet()) {
            if (tier.load(known.getKey()) instanceof LoadResult.Hit hit) {
                hits++;
                assertTrue(
                        known.getValue().contains(hit.entry().binaries()),
                        "bytes that were never stored");
            }
        }
        return hits;
    }
}
