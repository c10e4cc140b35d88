package dev.granary.local;

import static dev.granary.testing.CacheAssertions.assertThat;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.cache.DamageKind;
import dev.granary.cache.Entry;
import dev.granary.cache.EntryCatalog;
import dev.granary.cache.LoadResult;
import dev.granary.cache.Sha256;
import dev.granary.cache.contract.TestEntries;
import dev.granary.local.config.LocalTierConfig;
import dev.granary.local.directory.BootId;
import dev.granary.local.file.EntryLocation;
import dev.granary.local.file.OpenStoreFiles;
import dev.granary.local.file.SegmentFile;
import dev.granary.local.file.StoreStep;
import dev.granary.local.store.EntryReader;
import dev.granary.local.store.SegmentStore;
import dev.granary.local.store.StoreCaretaker;

import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

import java.io.IOException;
import java.io.RandomAccessFile;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Objects;

/**
 * Tests of lookups, lists and usage counts while the store is changed or damaged between two of
 * their steps.
 */
@Timeout(600)
final class ReadersTest {
    private static final int LARGE = 300_000;
    private static final int PAGES = 20_000; // a truncated segment loses at least as many pages

    private final TestEntries entries = new TestEntries("ReadersTest");

    @TempDir
    private Path directory;

    private LocalTierConfig config() {
        return LocalTierConfig.builder(directory).background(Runnable::run).build();
    }

    /** Arena that runs an event before its first allocation, in the middle of a lookup. */
    private static final class EventArena implements Arena {
        private final Arena arena = Arena.ofConfined();
        private @Nullable Runnable event;

        EventArena(Runnable event) {
            this.event = event;
        }

        @Override
        public MemorySegment allocate(long bytes, long alignment) {
            Runnable due = event;
            if (due != null) {
                event = null;
                due.run();
            }
            return arena.allocate(bytes, alignment);
        }

        @Override
        public MemorySegment.Scope scope() {
            return arena.scope();
        }

        @Override
        public void close() {
            arena.close();
        }
    }

    /** Way in which an entry is read. */
    enum Way {
        LOAD,
        READ;

        LoadResult read(LocalTier tier, Entry entry, Sha256 name, Arena memory) {
            return switch (this) {
                case LOAD -> tier.load(entry.id(), memory);
                case READ ->
                    tier.read(
                            new EntryCatalog.Listed(entry.id().target().path(), name, 0, 0),
                            memory);
            };
        }
    }

    @ParameterizedTest
    @EnumSource(Way.class)
    @DisplayName("L8 an entry that is replaced during its lookup is found, even in a slot that the"
            + " probe has passed")
    void replacedBehindTheProbe(Way way) throws Exception {
        Sha256 one = Sha256.of(new byte[] {1});
        Entry gone = entries.entry(100);
        Entry passed =
                TestEntries.entry(TestEntries.id("passed"), entries.entry(100).binaries());
        Entry old = entries.entry(100);
        Entry replacing = entries.entry(old.id(), 200);
        try (LocalTier tier =
                LocalTier.open(config(), BootId.mark(), id -> one, StoreStep.Listener.NONE)) {
            for (Entry entry : List.of(gone, passed, old)) {
                assertThat(tier.store(entry)).isStored();
            }
            tier.discard(gone); // its slot precedes the others', and is passed over
            try (EventArena memory =
                    new EventArena(() -> assertThat(tier.store(replacing)).isStored())) {
                // a read by name returns the first sound entry, so only the wanted one may remain
                if (way == Way.READ) {
                    EntryBytesOnDisk.of(directory, id -> one, passed.id()).write(new byte[64]);
                }
                assertThat(way.read(tier, replacing, one, memory)).isHitOf(replacing);
            }
            tier.clear(); // other tiers do not use this hash function
        }
    }

    @Test
    @DisplayName(
            "L8 an entry that a dead process replaced is found while another process removes the"
                    + " old one")
    void replacedByTheDead() throws Exception {
        Sha256 one = Sha256.of(new byte[] {1});
        Entry gone = entries.entry(100);
        Entry passed = entries.entry(100);
        Entry old = entries.entry(100);
        Entry replacing = entries.entry(old.id(), 200);
        boolean[] dies = {false};
        try (LocalTier tier = LocalTier.open(config(), BootId.mark(), id -> one, step -> {
            if (dies[0] && step == StoreStep.ENTERED) {
                throw new IllegalStateException("this is where the process dies");
            }
        })) {
            for (Entry entry : List.of(gone, passed, old)) {
                assertThat(tier.store(entry)).isStored();
            }
            tier.discard(gone);
            try (EventArena memory = new EventArena(() -> {
                dies[0] = true;
                assertThrows(IllegalStateException.class, () -> tier.store(replacing));
                dies[0] = false;
                assertThat(tier.store(entries.entry(50))).isStored();
            })) {
                assertThat(tier.load(old.id(), memory)).isHitOf(replacing);
            }
            tier.clear();
        }
    }

    @ParameterizedTest
    @EnumSource(Way.class)
    @DisplayName(
            "L5 an entry that is evicted during a read, and its segment truncated, is a miss: no"
                    + " failure, no repair")
    void evictedWhileRead(Way way) throws Exception {
        Entry stays = entries.entry(PAGES);
        Entry leaves = entries.entry(LARGE);
        try (LocalTier tier = LocalTier.open(config())) {
            tier.store(stays);
            tier.store(leaves);
            SegmentFile before = segmentOf(stays);
            try (EventArena memory = new EventArena(() -> {
                tier.discard(leaves);
                tier.reclaim();
            })) {
                assertThat(way.read(tier, leaves, leaves.id().hash(), memory)).isAbsent();
            }
            assertTrue(Files.size(before.file()) < LARGE, "nothing was cut");
            assertEquals(0, tier.statistics().inputOutputErrors());
            assertThat(tier.load(stays.id())).isHitOf(stays);
        }
        StoreInvariants.check(directory);
    }

    @Test
    @DisplayName("L5 an entry that is evicted during a read, and whose slot keeps its tag for later"
            + " slots, is a miss as well")
    void evictedBeforeOthers() throws Exception {
        Sha256 one = Sha256.of(new byte[] {1});
        Entry gone = entries.entry(PAGES);
        Entry stays = entries.entry(PAGES);
        Entry leaves = entries.entry(LARGE);
        try (LocalTier tier =
                LocalTier.open(config(), BootId.mark(), id -> one, StoreStep.Listener.NONE)) {
            tier.store(gone);
            tier.store(stays);
            tier.discard(gone);
            tier.store(leaves); // into the slot before that of the remaining entry
            try (EventArena memory = new EventArena(() -> {
                tier.discard(leaves);
                tier.reclaim();
            })) {
                assertThat(tier.load(leaves.id(), memory)).isAbsent();
            }
            assertThat(tier.load(stays.id())).isHitOf(stays);
            assertEquals(0, tier.statistics().healed());
            tier.clear(); // other tiers do not use this hash function
        }
    }

    @Test
    @DisplayName("L5 a store of an entry that is being evicted stores it again, without a failure")
    void evictedWhileStored() throws Exception {
        Entry leaves = entries.entry(LARGE);
        try (LocalTier tier = LocalTier.open(config())) {
            tier.store(entries.entry(PAGES));
            tier.store(leaves);
            SegmentStore store = SegmentStore.share(
                    directory.toRealPath(), BootId.mark(), StoreStep.Listener.NONE);
            try (Arena memory = Arena.ofConfined()) {
                OpenStoreFiles files = Objects.requireNonNull(store.files());
                EntryReader reader = new EntryReader(id -> id.hash());
                EntryReader.LocatedEntry located = reader.find(files, leaves.id(), memory);
                SegmentFile mapped =
                        files.segments().get(EntryLocation.segment(located.location()));
                tier.discard(leaves);
                tier.reclaim();
                assertThrows(
                        SegmentFile.TruncatedException.class,
                        () -> mapped.copy(EntryLocation.offset(located.location()), LARGE, memory));
                assertThat(reader.find(files, leaves.id(), memory).result()).isAbsent();
            } finally {
                store.release();
            }
            assertThat(tier.store(leaves)).isStored();
            assertEquals(0, tier.statistics().inputOutputErrors());
        }
        StoreInvariants.check(directory);
    }

    @Test
    @DisplayName(
            "L5 a segment that another process truncated under its mapping: its lost entries are"
                    + " damaged, no others")
    void cutByOthers() throws Exception {
        Entry before = entries.entry(PAGES);
        Entry cut = entries.entry(LARGE);
        Entry elsewhere = entries.entry(1 << 20);
        try (LocalTier tier = LocalTier.open(LocalTierConfig.builder(directory)
                .capacityBytes(16 << 20)
                .background(Runnable::run)
                .build())) {
            for (Entry entry : List.of(before, cut, elsewhere)) {
                tier.store(entry);
                assertThat(tier.load(entry.id())).isHitOf(entry);
            }
            SegmentFile untouched = segmentOf(elsewhere);
            EntryBytesOnDisk.of(directory, cut.id()).cut(100);
            assertThat(tier.load(cut.id())).isDamaged(DamageKind.TRUNCATED);
            assertEquals(1, tier.statistics().healed());
            assertThat(tier.load(cut.id())).isAbsent();
            assertThat(tier.load(before.id())).isHitOf(before);
            assertThat(tier.load(elsewhere.id())).isHitOf(elsewhere);
            assertEquals(0, tier.statistics().inputOutputErrors());
            assertEquals(untouched, segmentOf(elsewhere), "its mapping was dropped too");
        }
        StoreInvariants.check(directory);
    }

    @Test
    @DisplayName("L5 a truncation that is reported only after the copy: the second read uses a new"
            + " mapping")
    void reportedLate() throws Exception {
        Entry cut = entries.entry(LARGE);
        Entry elsewhere = entries.entry(1 << 20);
        try (LocalTier tier = LocalTier.open(LocalTierConfig.builder(directory)
                .capacityBytes(16 << 20)
                .background(Runnable::run)
                .build())) {
            tier.store(cut);
            tier.store(elsewhere);
            SegmentFile mapped = segmentOf(cut);
            SegmentFile untouched = segmentOf(elsewhere);
            EntryBytesOnDisk.of(directory, cut.id()).cut(100);
            SegmentStore store = SegmentStore.share(
                    directory.toRealPath(), BootId.mark(), StoreStep.Listener.NONE);
            try {
                int[] attempts = {0};
                StoreCaretaker.retryAfterTruncation(store, () -> {
                    if (++attempts[0] == 1) {
                        throw new InternalError("late");
                    }
                    assertTrue(!Objects.requireNonNull(store.files())
                            .segments()
                            .mapped()
                            .contains(mapped));
                    assertTrue(Objects.requireNonNull(store.files())
                            .segments()
                            .mapped()
                            .contains(untouched));
                    return attempts;
                });
                assertEquals(2, attempts[0]);
            } finally {
                store.release();
            }
        }
        StoreInvariants.check(directory);
    }

    private SegmentFile segmentOf(Entry entry) throws IOException {
        SegmentStore store =
                SegmentStore.share(directory.toRealPath(), BootId.mark(), StoreStep.Listener.NONE);
        try (Arena memory = Arena.ofConfined()) {
            OpenStoreFiles files = Objects.requireNonNull(store.files());
            long location = new EntryReader(id -> id.hash())
                    .find(files, entry.id(), memory)
                    .location();
            return files.segments().get(EntryLocation.segment(location));
        } finally {
            store.release();
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1000})
    @DisplayName("L6 F10 list and usage report a file that was truncated under its mapping, and the"
            + " next ones work, also in compiled code")
    void listOfCut(int warm) throws Exception {
        try (LocalTier tier = LocalTier.open(config())) {
            for (String victim : List.of("v2/index-1", "v2/index-2", "v2/state", "v2/segments/")) {
                Entry entry = entries.entry(PAGES);
                tier.store(entry);
                for (int i = 0; i <= warm; i++) {
                    assertTrue(StoreInvariants.listed(tier).size() <= 4);
                    assertTrue(tier.usage().entries() <= 4);
                }
                Path file =
                        victim.endsWith("/") ? segmentOf(entry).file() : directory.resolve(victim);
                for (boolean lists : new boolean[] {true, false}) {
                    if (Files.exists(file)) {
                        cut(file);
                        for (int i = 0; i < 3; i++) {
                            works(tier, lists, i == 0);
                        }
                    }
                }
                assertThat(tier.store(entries.entry(PAGES))).isStored();
            }
        }
    }

    private static void works(LocalTier tier, boolean lists, boolean mayFail) throws IOException {
        try {
            if (lists) {
                tier.list(_ -> {});
            } else {
                tier.usage();
            }
        } catch (IOException e) {
            if (!mayFail) {
                throw e;
            }
        }
    }

    private static void cut(Path file) throws IOException {
        try (RandomAccessFile out = new RandomAccessFile(file.toFile(), "rw")) {
            out.setLength(0);
        }
    }
}
