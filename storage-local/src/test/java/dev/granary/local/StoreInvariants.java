package dev.granary.local;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.cache.Entry;
import dev.granary.cache.EntryCatalog;
import dev.granary.cache.Id;
import dev.granary.cache.LoadResult;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;

/** Invariants of a directory after every test, once all of its tiers are idle. */
public final class StoreInvariants {
    private StoreInvariants() {}

    /**
     * Checks that the sweep lock is free, that list and usage agree, that no writer left a file,
     * and that no entry is of another id.
     */
    public static void check(Path directory) throws IOException, LocalDirectoryException {
        checkAfterKill(directory);
        try (LocalTier tier = openUnlimited(directory, InstantSource.system())) {
            assertEquals(0, tier.usage().unfinished(), "files that were not finished");
        }
    }

    /** Checks the same, except for unfinished files, which a later sweep must remove. */
    static void checkAfterKill(Path directory) throws IOException, LocalDirectoryException {
        try (LocalTier tier = openUnlimited(directory, InstantSource.system())) {
            assertTrue(tier.enforceCapacity(), "the lock of sweeps is held");
            List<EntryCatalog.Listed> listed = listed(tier);
            DirectoryUsage usage = tier.usage();
            assertEquals(listed.size(), usage.entries());
            assertEquals(entryBytes(tier), usage.entryBytes());
            for (EntryCatalog.Listed each : listed) {
                LoadResult result = tier.read(each);
                assertTrue(
                        !(result instanceof LoadResult.Hit hit)
                                || hit.entry().id().hash().equals(each.hash()),
                        each::toString);
            }
        }
        InstantSource later =
                () -> InstantSource.system().instant().plus(EntryFiles.ABANDONED.multipliedBy(2));
        try (LocalTier tier = openUnlimited(directory, later)) {
            if (Files.isWritable(directory) && tier.usage().unfinished() > 0) {
                assertTrue(tier.enforceCapacity());
                assertEquals(0, tier.usage().unfinished(), "a sweep leaves abandoned files");
            }
        }
    }

    private static LocalTier openUnlimited(Path directory, InstantSource clock)
            throws LocalDirectoryException {
        return LocalTier.open(LocalTierConfig.builder(directory)
                .capacityBytes(Long.MAX_VALUE)
                .clock(clock)
                .background(Runnable::run)
                .build());
    }

    /** Opens a tier whose first sweep is due after a whole share of the capacity. */
    static LocalTier openRegular(LocalTierConfig config) throws LocalDirectoryException {
        return LocalTier.open(config, StoreStep.Listener.NONE, bound -> bound - 1);
    }

    /** Returns the length of the entries of a directory, by the catalog. */
    public static long entryBytes(LocalTier tier) throws IOException {
        return listed(tier).stream().mapToLong(EntryCatalog.Listed::bytes).sum();
    }

    public static List<EntryCatalog.Listed> listed(LocalTier tier) throws IOException {
        List<EntryCatalog.Listed> listed = new ArrayList<>();
        tier.list(listed::add);
        return listed;
    }

    /** Returns whether an entry is present; does not count as a use. */
    static boolean isPresent(LocalTier tier, Entry entry) {
        try (Arena memory = Arena.ofConfined()) {
            return tier.read(
                            new EntryCatalog.Listed(
                                    entry.id().target().path(), entry.id().hash(), 0, 0),
                            memory)
                    instanceof LoadResult.Hit;
        }
    }

    /** Returns the file of an entry. */
    static Path file(Path directory, Id id) {
        return new EntryFiles(directory, StoreStep.Listener.NONE).file(id);
    }
}
