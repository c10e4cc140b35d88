package dev.granary.local;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.cache.Entry;
import dev.granary.cache.EntryCatalog;
import dev.granary.cache.LoadResult;
import dev.granary.local.config.LocalDirectoryException;
import dev.granary.local.config.LocalTierConfig;
import dev.granary.local.directory.BootId;
import dev.granary.local.file.EntryLocation;
import dev.granary.local.file.IndexSnapshot;
import dev.granary.local.file.OpenStoreFiles;
import dev.granary.local.file.StatePage;
import dev.granary.local.file.StoreLayout;
import dev.granary.local.file.StoreStep;
import dev.granary.local.store.SegmentStore;
import dev.granary.local.store.StoreRecovery;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.stream.Stream;

/** Invariants of a directory after every test, once all of its tiers are idle. */
public final class StoreInvariants {
    private StoreInvariants() {}

    /** Checks all that {@link #checkFiles} checks, and that no id has two entries. */
    public static void check(Path directory) throws IOException, LocalDirectoryException {
        checkFiles(directory);
        try (LocalTier tier = LocalTier.open(LocalTierConfig.builder(directory)
                .capacityBytes(Long.MAX_VALUE)
                .background(Runnable::run)
                .build())) {
            entries(tier);
        }
    }

    /**
     * Checks that the locks are free and that the counts equal the index. After a sweep every file
     * must be in use and no longer than necessary.
     */
    static void checkFiles(Path directory) throws IOException, LocalDirectoryException {
        try (LocalTier tier = LocalTier.open(LocalTierConfig.builder(directory)
                .capacityBytes(Long.MAX_VALUE)
                .background(Runnable::run)
                .build())) {
            assertTrue(tier.sweepNow(), "the sweeper's lock is held");
            SegmentStore store = SegmentStore.share(
                    directory.toRealPath(), BootId.mark(), StoreStep.Listener.NONE);
            try {
                OpenStoreFiles files = store.files();
                if (files != null && files.state().isWritable()) {
                    counts(store);
                    files(files);
                }
            } finally {
                store.release();
            }
        }
    }

    private static void counts(SegmentStore store) throws IOException {
        OpenStoreFiles files = Objects.requireNonNull(store.files());
        StatePage state = files.state();
        assertEquals(
                0, state.get(StatePage.CHANGE_IN_PROGRESS), "a change is marked as unfinished");
        long[] before = {
            state.get(StatePage.LIVE_ENTRIES),
            state.get(StatePage.LIVE_UNITS),
            state.get(StatePage.OCCUPIED_SLOTS)
        };
        long disk = state.diskUnits();
        store.change(locked -> {
            StoreRecovery.recount(locked);
            return true;
        });
        assertEquals(state.get(StatePage.LIVE_ENTRIES), before[0], "entries");
        assertEquals(state.get(StatePage.LIVE_UNITS), before[1], "units");
        assertEquals(state.get(StatePage.OCCUPIED_SLOTS), before[2], "occupied slots");
        assertTrue(disk <= state.diskUnits(), "more on the disk than the files are long");
        assertTrue(disk >= before[1], "less on the disk than the entries take");
    }

    private static void files(OpenStoreFiles files) throws IOException {
        StoreLayout layout = files.layout();
        IndexSnapshot snapshot = IndexSnapshot.of(files.index());
        List<Path> unused = new ArrayList<>();
        StoreLayout.forEachChild(layout.root(), file -> {
            if (StoreLayout.generation(file).orElse(files.index().generation())
                    != files.index().generation()) {
                unused.add(file);
            }
        });
        int last = EntryLocation.segment(files.state().appendPosition());
        StoreLayout.forEachChild(layout.segments(), file -> {
            int number = (int) StoreLayout.segmentNumber(file).orElse(last);
            if (number != last && snapshot.firstOf(number) == snapshot.firstOf(number + 1)) {
                unused.add(file);
            }
        });
        assertEquals(List.of(), unused, "files without a reference");
    }

    /** Checks that no id has two entries. */
    private static void entries(LocalTier tier) throws IOException {
        List<EntryCatalog.Listed> listed = listed(tier);
        assertEquals(
                listed.stream().map(EntryCatalog.Listed::hash).distinct().count(),
                listed.size(),
                "entries of one id");
    }

    /** Returns the bytes of the entries of a directory, by the catalog. */
    public static long entryBytes(LocalTier tier) throws IOException {
        long[] bytes = {0};
        tier.list(listed -> bytes[0] += EntryLocation.units(listed.bytes()) * EntryLocation.UNIT);
        return bytes[0];
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

    static List<Path> segmentFiles(Path directory) throws IOException {
        try (Stream<Path> all = Files.list(directory.resolve("v2/segments"))) {
            return all.sorted().toList();
        }
    }
}
