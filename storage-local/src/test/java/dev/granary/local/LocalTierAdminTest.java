package dev.granary.local;

import static dev.granary.testing.CacheAssertions.assertThat;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.cache.Entry;
import dev.granary.cache.EntryCatalog;
import dev.granary.cache.contract.TestEntries;
import dev.granary.local.config.LocalDirectoryException;
import dev.granary.local.config.LocalTierConfig;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/** Tests of the operations for tools: removing listed entries, reclaiming, counting usage. */
final class LocalTierAdminTest {
    private final TestEntries entries = new TestEntries("LocalTierAdminTest");
    private final TestClock clock = new TestClock();

    @TempDir
    private Path directory;

    private LocalTier open() throws LocalDirectoryException {
        return LocalTier.open(LocalTierConfig.builder(directory)
                .clock(clock)
                .background(Runnable::run)
                .build());
    }

    private static List<EntryCatalog.Listed> list(LocalTier tier) throws Exception {
        List<EntryCatalog.Listed> listed = new ArrayList<>();
        tier.list(listed::add);
        return listed;
    }

    @Test
    @DisplayName(
            "A listed entry is removed once; an entry of the same id that was stored since stays"
                    + " (D10)")
    void remove() throws Exception {
        Entry first = entries.entry(1000);
        try (LocalTier tier = open()) {
            tier.store(first);
            tier.store(entries.entry(10));
            EntryCatalog.Listed listed = list(tier).stream()
                    .filter(one -> one.hash().equals(first.id().hash()))
                    .findFirst()
                    .orElseThrow();
            assertTrue(tier.remove(listed));
            assertFalse(tier.remove(listed), "it was removed before");
            assertThat(tier.load(first.id())).isAbsent();
            assertEquals(1, list(tier).size());
            assertEquals(StoreInvariants.entryBytes(tier), tier.usedBytes());

            clock.advance(Duration.ofSeconds(1));
            tier.store(entries.entry(first.id(), 1000));
            assertFalse(tier.remove(listed), "a newer one");
            assertThat(tier.load(first.id())).isHit();
            assertFalse(
                    tier.remove(new EntryCatalog.Listed(
                            "../..", listed.hash(), listed.bytes(), listed.lastUsedMillis())),
                    "T5");
        }
    }

    @Test
    @DisplayName(
            "The space of removed entries is reclaimed on request, also without a capacity limit")
    void reclaim() throws Exception {
        try (LocalTier tier = LocalTier.open(LocalTierConfig.builder(directory)
                .capacityBytes(Long.MAX_VALUE)
                .background(Runnable::run)
                .build())) {
            for (int i = 0; i < 50; i++) {
                tier.store(entries.entry(10_000));
            }
            List<EntryCatalog.Listed> listed = list(tier);
            for (EntryCatalog.Listed leaving : listed.subList(0, 40)) {
                assertTrue(tier.remove(leaving));
            }
            assertTrue(tier.diskBytes() > 500_000);
            tier.reclaim();
            assertTrue(
                    tier.diskBytes() <= tier.usedBytes() * 33 / 32 + 64,
                    () -> tier.diskBytes() + " on the disk");
            for (EntryCatalog.Listed left : listed.subList(40, 50)) {
                assertThat(tier.read(left)).isHit();
            }
        }
    }

    @Test
    @DisplayName("O6 usage counts entries and bytes, lists foreign files, and leaves them")
    void usage() throws Exception {
        try (LocalTier tier = open()) {
            assertEquals(0, tier.usage().entries());
            tier.store(entries.entry(1000));
            tier.store(entries.entry(2000));
            Path foreign = Files.writeString(directory.resolve("v2/notes.txt"), "mine");
            DirectoryUsage usage = tier.usage();
            assertEquals(2, usage.entries());
            assertEquals(tier.usedBytes(), usage.entryBytes());
            assertTrue(usage.reclaimableBytes() <= 64, "a header");
            assertEquals(List.of(foreign.toRealPath()), usage.foreign());
            assertTrue(Files.exists(foreign));
            for (int i = 0; i < DirectoryUsage.NAMED + 10; i++) {
                Files.writeString(directory.resolve("v2/other-" + i), "");
            }
            assertEquals(DirectoryUsage.NAMED, tier.usage().foreign().size());
            tier.clear();
            assertEquals(0, tier.usage().entryBytes());
        }
    }
}
