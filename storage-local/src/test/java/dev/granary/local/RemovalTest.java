package dev.granary.local;

import static dev.granary.testing.CacheAssertions.assertThat;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.cache.Entry;
import dev.granary.cache.LoadResult;
import dev.granary.cache.StoreResult;
import dev.granary.testing.TestRuns;
import dev.granary.testing.TestSeed;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.Stream;

/** Test of files and directories that somebody removes while the directory is in use. */
@Timeout(120)
final class RemovalTest {
    private static final int IDS = 40;
    private static final int THREADS = 4;
    private static final int CALLS = TestRuns.count(500);

    @TempDir
    private Path temporary;

    @Test
    @DisplayName("anything may be removed at any time: lookups hit or miss, a few stores fail"
            + " softly, and everything works afterwards")
    void anything() throws Exception {
        SplittableRandom random = TestSeed.random("RemovalTest");
        Path directory = temporary.resolve("cache");
        AtomicBoolean over = new AtomicBoolean();
        ConcurrentLinkedQueue<Throwable> thrown = new ConcurrentLinkedQueue<>();
        LocalTierConfig config =
                LocalTierConfig.builder(directory).capacityBytes(1 << 20).build();
        try (LocalTier tier = LocalTier.open(config)) {
            List<Thread> users = new ArrayList<>();
            for (int t = 0; t < THREADS; t++) {
                SplittableRandom own = random.split();
                users.add(Thread.ofPlatform().start(() -> {
                    try {
                        for (int i = 0; i < CALLS; i++) {
                            use(tier, own);
                        }
                    } catch (Throwable e) {
                        thrown.add(e);
                    }
                }));
            }
            Thread remover = Thread.ofPlatform().start(() -> {
                while (!over.get()) {
                    remove(directory, random.nextInt(1, 50));
                }
            });
            for (Thread user : users) {
                user.join();
            }
            over.set(true);
            remover.join();
            for (Throwable e : thrown) {
                throw new AssertionError(e);
            }
            for (int i = 0; i < IDS; i++) {
                Entry entry = entry(i, 0);
                assertThat(tier.store(entry)).isStoredOrDuplicate();
                assertThat(tier.load(entry.id())).isHitOf(entry);
            }
            assertTrue(tier.enforceCapacity());
        }
        StoreInvariants.check(directory);
    }

    private static Entry entry(int number, int version) {
        return SharedEntries.entry("removed" + number, 1000 + 100 * number + version);
    }

    private static void use(LocalTier tier, SplittableRandom random) throws IOException {
        int number = random.nextInt(IDS);
        Entry entry = entry(number, random.nextInt(2));
        switch (random.nextInt(20)) {
            case 0 -> tier.discard(entry);
            case 1 -> tier.clear();
            case 2 -> {
                boolean _ = tier.enforceCapacity();
            }
            case 3 -> assertTrue(tier.usage().entries() <= IDS);
            case 4, 5, 6, 7, 8, 9, 10 ->
                assertThat(tier.store(entry))
                        .isOneOf(
                                StoreResult.Stored.class,
                                StoreResult.Duplicate.class,
                                StoreResult.Failed.class);
            default -> {
                if (tier.load(entry.id()) instanceof LoadResult.Hit hit) {
                    long bytes = hit.entry().binaries().byteSize();
                    assertEquals(
                            entry(number, (int) (bytes % 10)).binaries(),
                            hit.entry().binaries());
                }
            }
        }
    }

    /** Removes about one of {@code rarity} files and directories, the deepest first. */
    private static void remove(Path directory, int rarity) {
        SplittableRandom random = new SplittableRandom(TestSeed.VALUE + rarity);
        try (Stream<Path> all = Files.walk(directory)) {
            for (Path each : all.toList().reversed()) {
                if (random.nextInt(rarity) == 0) {
                    Files.deleteIfExists(each);
                }
            }
        } catch (IOException | UncheckedIOException e) {
            return; // the tier removes files as well
        }
    }
}
