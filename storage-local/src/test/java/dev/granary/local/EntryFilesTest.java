package dev.granary.local;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.cache.Entry;
import dev.granary.cache.EntryCatalog;
import dev.granary.cache.LoadResult;
import dev.granary.cache.LoadResult.DamageKind;
import dev.granary.cache.StoreResult;
import dev.granary.cache.contract.StoredEntry;
import dev.granary.cache.contract.TestEntries;
import dev.granary.cache.format.EntryFormat;
import dev.granary.cache.format.EntryFormat.Compression;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** Tests of a tree of entries without a local tier. */
class EntryFilesTest {
    private final TestEntries entries = new TestEntries("EntryFilesTest");
    private final Path directory;
    private final EntryFiles files;

    EntryFilesTest(@TempDir Path directory) {
        this.directory = directory.resolve("new/tree");
        this.files = EntryFiles.in(this.directory);
    }

    private List<EntryCatalog.Listed> listed() throws IOException {
        List<EntryCatalog.Listed> all = new ArrayList<>();
        files.list(all::add);
        return all;
    }

    private StoredEntry only() throws IOException {
        List<StoredEntry> all = StoredEntry.in(directory);
        assertEquals(1, all.size());
        return all.getFirst();
    }

    private void assertDamaged(DamageKind kind) throws IOException {
        assertEquals(
                kind,
                assertInstanceOf(LoadResult.Damaged.class, files.read(listed().getFirst()))
                        .damage());
    }

    @Test
    @DisplayName("A stored entry is one file with the encoded entry, is listed, and is read as it"
            + " was, by a local tier, too")
    void storedAndRead() throws Exception {
        assertFalse(files.exists());
        assertEquals(List.of(), listed());
        Entry entry = entries.entry(1000);
        StoreResult.Stored stored = assertInstanceOf(StoreResult.Stored.class, files.store(entry));
        assertTrue(files.exists());
        assertArrayEquals(EntryFormat.encode(entry, Compression.NONE), only().bytes());
        assertEquals(
                directory.resolve("v3/" + entry.id().target().path() + "/"
                        + entry.id().hash().hex().substring(0, 2) + "/"
                        + entry.id().hash().hex()
                        + ".entry"),
                only().file());
        EntryCatalog.Listed listed = listed().getFirst();
        assertEquals(entry.id().hash(), listed.hash());
        assertEquals(entry.id().target().path(), listed.namespace());
        assertEquals(stored.bytes(), listed.bytes());
        try (Arena memory = Arena.ofConfined()) {
            Entry read = assertInstanceOf(LoadResult.Hit.class, files.read(listed, memory))
                    .entry();
            assertEquals(entry.contentHash(), read.contentHash());
            assertEquals(entry.metadata(), read.metadata());
            assertEquals(entry.compileTime(), read.compileTime());
        }
        try (LocalTier tier = LocalTier.open(LocalTierConfig.builder(directory).build())) {
            assertInstanceOf(LoadResult.Hit.class, tier.load(entry.id()));
        }
    }

    @Test
    @DisplayName("A store replaces whatever is in the place of the entry")
    void replaces() throws Exception {
        Entry entry = entries.entry(10);
        files.store(entry);
        Entry other = entries.entry(entry.id(), 20);
        assertInstanceOf(StoreResult.Stored.class, files.store(other));
        assertEquals(
                other.contentHash(),
                assertInstanceOf(LoadResult.Hit.class, files.read(listed().getFirst()))
                        .entry()
                        .contentHash());
        only().overwrite(new byte[3]);
        assertInstanceOf(StoreResult.Stored.class, files.store(entry));
        assertInstanceOf(LoadResult.Hit.class, files.read(listed().getFirst()));
    }

    @Test
    @DisplayName("A file that is cut, changed, foreign, or of another id is damaged, and remains")
    void damaged() throws Exception {
        files.store(entries.entry(1000));
        byte[] whole = only().bytes();
        only().overwrite(java.util.Arrays.copyOf(whole, whole.length - 1));
        assertDamaged(DamageKind.TRUNCATED);
        byte[] changed = whole.clone();
        changed[whole.length - 1] ^= 1;
        only().overwrite(changed);
        assertDamaged(DamageKind.CORRUPT);
        only().overwrite(TestEntries.compressible(1000));
        assertDamaged(DamageKind.FOREIGN);
        only().overwrite(EntryFormat.encode(entries.entry(1000), Compression.NONE));
        assertDamaged(DamageKind.WRONG_KEY);
        assertEquals(1, listed().size());
    }

    @Test
    @DisplayName("Links, other files and unfinished files are no entries")
    void others() throws Exception {
        Entry entry = entries.entry(10);
        files.store(entry);
        Path file = only().file();
        Path moved = Files.move(file, directory.resolve("moved"));
        Files.createSymbolicLink(file, moved);
        Files.writeString(file.resolveSibling("README"), "text");
        Files.copy(moved, file.resolveSibling(entry.id().hash().hex() + ".0123456789abcdef"));
        assertEquals(List.of(), listed());
        assertEquals(
                LoadResult.ABSENT,
                files.read(new EntryCatalog.Listed(
                        entry.id().target().path(), entry.id().hash(), 0, 0)));
        assertEquals(
                LoadResult.ABSENT,
                files.read(new EntryCatalog.Listed("../..", entry.id().hash(), 0, 0)));
    }

    @Test
    @DisplayName("A store into a place that cannot be written fails and leaves nothing")
    void unwritable() throws Exception {
        Files.createDirectories(directory);
        Files.writeString(directory.resolve("v3"), "in the way");
        assertInstanceOf(StoreResult.Failed.class, files.store(entries.entry(10)));
        assertFalse(files.exists());
        assertInstanceOf(
                StoreResult.Failed.class,
                EntryFiles.in(Path.of("/proc/granary")).store(entries.entry(10)));
    }
}
