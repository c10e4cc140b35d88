package dev.granary.local;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.cache.Catalog;
import dev.granary.cache.Entry;
import dev.granary.cache.LoadResult;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.stream.Stream;

/** What must hold of a directory after every test, once all of its tiers rest. */
final class Invariants {
    private Invariants() {}

    /** What {@link #checkFiles} says, and: no id has two entries. */
    static void check(Path directory) throws IOException, LocalDirectoryException {
        checkFiles(directory);
        try (LocalTier tier = LocalTier.open(LocalConfig.builder(directory).capacityBytes(Long.MAX_VALUE).background(Runnable::run).build())) {
            entries(tier);
        }
    }

    /** The locks can be had; the counts equal the index; after a sweep every file is one that something names, and no longer than it need be. */
    static void checkFiles(Path directory) throws IOException, LocalDirectoryException {
        try (LocalTier tier = LocalTier.open(LocalConfig.builder(directory).capacityBytes(Long.MAX_VALUE).background(Runnable::run).build())) {
            assertTrue(tier.sweepNow(), "the sweeper's lock is held");
            SegmentStore store = SegmentStore.share(directory.toRealPath(), Boot.mark(), Step.Listener.NONE);
            try {
                StoreFiles files = store.files();
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
        StoreFiles files = Objects.requireNonNull(store.files());
        State state = files.state();
        assertEquals(0, state.get(State.CHANGING), "a change is marked as unfinished");
        long[] kept = {state.get(State.LIVE_ENTRIES), state.get(State.LIVE_UNITS), state.get(State.OCCUPIED_SLOTS)};
        long disk = state.diskUnits();
        store.change(locked -> {
            Recovery.recount(locked);
            return true;
        });
        assertEquals(state.get(State.LIVE_ENTRIES), kept[0], "entries");
        assertEquals(state.get(State.LIVE_UNITS), kept[1], "units");
        assertEquals(state.get(State.OCCUPIED_SLOTS), kept[2], "occupied slots");
        assertTrue(disk <= state.diskUnits(), "more on the disk than the files are long");
        assertTrue(disk >= kept[1], "less on the disk than the entries take");
    }

    private static void files(StoreFiles files) throws IOException {
        Layout layout = files.layout();
        Snapshot snapshot = Snapshot.of(files.index());
        List<Path> left = new ArrayList<>();
        Layout.each(layout.root(), file -> {
            if (Layout.generation(file).orElse(files.index().generation()) != files.index().generation()) {
                left.add(file);
            }
        });
        int last = Tail.segment(files.state().tail());
        Layout.each(layout.segments(), file -> {
            int number = (int) Layout.segmentNumber(file).orElse(last);
            if (number != last && snapshot.firstOf(number) == snapshot.firstOf(number + 1)) {
                left.add(file);
            }
        });
        assertEquals(List.of(), left, "files that nothing names");
    }

    /** No id has two entries. */
    private static void entries(LocalTier tier) throws IOException {
        List<Catalog.Listed> listed = listed(tier);
        assertEquals(listed.stream().map(Catalog.Listed::hash).distinct().count(), listed.size(), "entries of one id");
    }

    /** What the entries of a directory take, by the catalogue. */
    static long entryBytes(LocalTier tier) throws IOException {
        long[] bytes = {0};
        tier.list(listed -> bytes[0] += Tail.units(listed.bytes()) * Tail.UNIT);
        return bytes[0];
    }

    static List<Catalog.Listed> listed(LocalTier tier) throws IOException {
        List<Catalog.Listed> listed = new ArrayList<>();
        tier.list(listed::add);
        return listed;
    }

    /** Whether an entry is there; does not count as a use. */
    static boolean isThere(LocalTier tier, Entry entry) {
        try (Arena memory = Arena.ofConfined()) {
            return tier.read(new Catalog.Listed(entry.id().target().path(), entry.id().hash(), 0, 0), memory) instanceof LoadResult.Hit;
        }
    }

    static List<Path> segmentFiles(Path directory) throws IOException {
        try (Stream<Path> all = Files.list(directory.resolve("v2/segments"))) {
            return all.sorted().toList();
        }
    }
}
