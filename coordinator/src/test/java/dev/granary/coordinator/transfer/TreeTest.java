package dev.granary.coordinator.transfer;

import static dev.granary.testing.CacheAssertions.assertThat;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.granary.cache.DamageKind;
import dev.granary.cache.Entry;
import dev.granary.cache.EntryMetadata;
import dev.granary.cache.KernelBinaries;
import dev.granary.cache.LoadResult;
import dev.granary.cache.Sha256;
import dev.granary.cache.StoreResult;
import dev.granary.cache.contract.InMemoryCache;
import dev.granary.cache.contract.TestEntries;
import dev.granary.cache.format.Compression;
import dev.granary.cache.format.EntryFormat;
import dev.granary.cache.format.WriteAttemptId;
import dev.granary.coordinator.FakeCatalog;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.io.RandomAccessFile;
import java.lang.foreign.Arena;
import java.nio.file.Files;
import java.nio.file.NotDirectoryException;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.stream.Stream;

/**
 * Export to a tree and import: exported entries are imported unchanged, and defects of a tree are
 * reported and not stored.
 */
class TreeTest {
    private final TestEntries entries = new TestEntries("TreeTest");
    private final InMemoryCache store = new InMemoryCache(InMemoryCache.OtherContent.KEEP_FIRST);
    private final Path root;

    TreeTest(@TempDir Path directory) {
        this.root = directory.resolve("tree");
    }

    private EntryExporter export(Entry... exported) throws Exception {
        return export(TreeWriter.Mode.WRITE, exported);
    }

    private EntryExporter export(TreeWriter.Mode mode, Entry... exported) throws Exception {
        FakeCatalog catalog = new FakeCatalog();
        Stream.of(exported).forEach(catalog::add);
        TreeWriter tree = TreeWriter.into(root, mode, entries.random());
        EntryExporter exporter = new EntryExporter(tree);
        exporter.all(catalog, catalog.all(), _ -> {});
        tree.finish();
        return exporter;
    }

    private TreeReader importTree() throws Exception {
        TreeReader tree = TreeReader.from(root);
        tree.all(store::store, _ -> {});
        return tree;
    }

    private Path entryDirectory(Entry entry) {
        return root.resolve(entry.id().hash().hex()).resolve("0");
    }

    private void assertDamaged(String detail) throws Exception {
        TreeReader tree = importTree();
        assertEquals(0, tree.stored());
        assertEquals(1, tree.damaged(), tree.problems()::toString);
        assertTrue(tree.problems().getFirst().detail().contains(detail), tree.problems()::toString);
        assertEquals(0, store.size());
    }

    private List<Path> allFiles() throws IOException {
        try (Stream<Path> files = Files.walk(root)) {
            return files.filter(Files::isRegularFile).sorted().toList();
        }
    }

    @Test
    @DisplayName(
            "F3 a date outside the range of milliseconds does not end an import: all entries are"
                    + " stored")
    void oddDates() throws Exception {
        Entry[] exported = {
            entries.entry(10), entries.entry(11), entries.entry(12), entries.entry(13)
        };
        export(exported);
        List<String> dates = List.of(
                "+292278995-01-01T00:00:00Z",
                "-1000000000-01-01T00:00:00Z",
                "+1000000000-12-31T23:59:59.999999999Z");
        for (int i = 0; i < dates.size(); i++) {
            Path about = entryDirectory(exported[i]).resolve("about.txt");
            Files.writeString(
                    about,
                    Files.readString(about)
                            .replaceAll("created-at: .*", "created-at: " + dates.get(i))
                            .replaceAll(
                                    "compile-time: .*", "compile-time: PT9223372036854775807S"));
        }
        TreeReader tree = TreeReader.from(root);
        tree.all(
                entry -> {
                    assertTrue(
                            EntryFormat.encode(entry, Compression.NONE, WriteAttemptId.NONE).length
                                    > 0);
                    return store.store(entry);
                },
                _ -> {});
        assertEquals(exported.length, tree.stored(), tree.problems()::toString);
    }

    @Test
    @DisplayName("F11 the details of a damaged entry are short, with any about.txt")
    void longDetails() throws Exception {
        Entry entry = entries.entry(10);
        export(entry);
        Path about = entryDirectory(entry).resolve("about.txt");
        String sound = Files.readString(about);
        for (String wrong : List.of(
                sound.replaceAll("binary-bytes: .*", "binary-bytes: " + "x".repeat(100_000)),
                sound.replace("granary-entry: 1", "granary-entry: " + "y".repeat(100_000)),
                sound + "binary-bytes: 10\n".repeat(10_000))) {
            Files.writeString(about, wrong);
            TreeReader.Problem problem = importTree().problems().getFirst();
            assertEquals("damaged", problem.reason());
            assertTrue(
                    problem.detail().length() <= 250,
                    () -> problem.detail().length() + " characters");
        }
    }

    @Test
    @DisplayName(
            "F11 files longer than memory make a damaged entry, and later entries are imported")
    void moreThanMemory() throws Exception {
        Entry[] exported = {entries.entry(10), entries.entry(11)};
        export(exported);
        try (RandomAccessFile file = new RandomAccessFile(
                entryDirectory(exported[0]).resolve("about.txt").toFile(), "rw")) {
            file.setLength(TreeEntry.MAX_ABOUT_BYTES); // sparse: uses no disk space
        }
        TreeReader tree = importTree();
        assertEquals(
                List.of(1L, 1L), List.of(tree.damaged(), tree.stored()), tree.problems()::toString);
        Path key = entryDirectory(exported[1]).resolve("key.bin");
        try (Arena memory = Arena.ofConfined()) {
            String message = String.valueOf(
                    assertThrows(IOException.class, () -> RegularFiles.read(key, 1L << 50, memory))
                            .getMessage());
            assertTrue(message.startsWith("no memory for the"), message);
        }
    }

    @Test
    @DisplayName("R7 exported entries are imported with key, binaries in order, compile time and"
            + " metadata")
    void roundTrip() throws Exception {
        Entry many = Entry.of(
                entries.id(),
                KernelBinaries.of(entries.bytes(3000), new byte[0], entries.bytes(10)),
                Duration.ofNanos(1_234_567_891L),
                new EntryMetadata(
                        "9.9",
                        "host\\n\n/1",
                        Instant.ofEpochMilli(1),
                        List.of("a", "b: c"),
                        List.of("a@1"),
                        "\u001b[31m \\u0041 \r\n"));
        Entry single = entries.entry(100);
        EntryExporter exporter = export(many, single);
        assertEquals(2, exporter.written());
        assertEquals(
                List.of("about.txt", "kernel.1.bin", "kernel.2.bin", "kernel.bin", "key.bin"),
                allFiles().stream()
                        .filter(file -> file.startsWith(entryDirectory(many)))
                        .map(file -> file.getFileName().toString())
                        .toList());
        assertFalse(
                Files.readString(entryDirectory(many).resolve("about.txt")).contains("\u001b"),
                "T4");
        long bytes = 0;
        for (Path file : allFiles()) {
            bytes += file.endsWith("size.txt") ? 0 : Files.size(file);
        }
        assertEquals(bytes + "\n", Files.readString(root.resolve("size.txt")));

        TreeReader tree = importTree();
        assertEquals(2, tree.stored(), tree.problems()::toString);
        assertEquals(0, tree.foreign());
        for (Entry expected : List.of(many, single)) {
            Entry restored = assertThat(store.load(expected.id())).isHit();
            assertEquals(expected.binaries(), restored.binaries());
            assertEquals(expected.compileTime(), restored.compileTime());
            assertEquals(expected.metadata(), restored.metadata());
        }
        TreeReader secondImport = importTree();
        assertEquals(0, secondImport.stored());
        assertEquals(2, secondImport.duplicate());
    }

    @Test
    @DisplayName("D21 a second export writes nothing; a damaged or different entry is replaced as a"
            + " whole")
    void exportAgain() throws Exception {
        Entry entry = entries.entry(100);
        export(entry);
        FileTime before = Files.getLastModifiedTime(entryDirectory(entry).resolve("kernel.bin"));
        assertEquals(1, export(entry).present());
        assertEquals(
                before, Files.getLastModifiedTime(entryDirectory(entry).resolve("kernel.bin")));
        Files.writeString(entryDirectory(entry).resolve("kernel.bin"), "damaged");
        Files.writeString(entryDirectory(entry).resolve("kernel.1.bin"), "too many");
        assertEquals(1, export(entry).replaced());
        assertEquals(1, importTree().stored());
        assertEquals(4, allFiles().size(), "three files and size.txt");
    }

    @Test
    @DisplayName("D9 an id whose hash belongs to another key gets the next number; files of others"
            + " remain")
    void nextNumber() throws Exception {
        Entry entry = entries.entry(100);
        export(entry);
        Files.writeString(entryDirectory(entry).resolve("key.bin"), "another key");
        export(entry);
        assertTrue(Files.exists(entryDirectory(entry).resolveSibling("1").resolve("key.bin")));
        Files.writeString(entryDirectory(entry).resolveSibling("1").resolve("notes.txt"), "mine");
        assertEquals(1, export(entries.entry(entry.id(), 50)).written());
        assertTrue(Files.exists(entryDirectory(entry).resolveSibling("1").resolve("notes.txt")));
        assertTrue(Files.exists(entryDirectory(entry).resolveSibling("2").resolve("key.bin")));
    }

    @Test
    @DisplayName(
            "A directory with other content is rejected unchanged; an empty one and an interrupted"
                    + " export are accepted")
    void refused() throws Exception {
        Files.createDirectories(root);
        assertEquals(1, export(entries.entry(10)).written());
        Files.delete(root.resolve("size.txt"));
        List<Path> before = allFiles();
        assertTrue(
                String.valueOf(assertThrows(TreeException.class, this::export).getMessage())
                        .contains("not empty"));
        Files.writeString(root.resolve("size.txt"), "my shoe size");
        assertThrows(TreeException.class, this::export);
        Files.delete(root.resolve("size.txt"));
        assertEquals(before, allFiles());
        Files.writeString(root.resolve("size.txt"), "0");
        export();
        Files.writeString(root.resolveSibling("file"), "");
        assertThrows(
                TreeException.class,
                () -> TreeWriter.into(
                        root.resolveSibling("file"), TreeWriter.Mode.DRY_RUN, entries.random()));
    }

    @Test
    @DisplayName("D17 remains of an interrupted export are not imported, and removed after an hour")
    void interrupted() throws Exception {
        export(entries.entry(10));
        Path young = Files.createDirectory(root.resolve(".aside-1"));
        Path old = Files.createDirectory(root.resolve(".aside-2"));
        Files.writeString(young.resolve("key.bin"), "half");
        Files.writeString(old.resolve("key.bin"), "half");
        Files.setLastModifiedTime(old, FileTime.from(Instant.now().minus(Duration.ofHours(2))));
        assertEquals(0, importTree().damaged());
        export();
        assertTrue(Files.exists(young));
        assertFalse(Files.exists(old));
    }

    @Test
    @DisplayName("O7 a dry run writes nothing, and reports what would be written")
    void dryRun() throws Exception {
        assertEquals(1, export(TreeWriter.Mode.DRY_RUN, entries.entry(10)).written());
        assertFalse(Files.exists(root));
        Entry entry = entries.entry(10);
        export(entry);
        List<Path> before = allFiles();
        EntryExporter exporter = export(
                TreeWriter.Mode.DRY_RUN, entry, entries.entry(entry.id(), 11), entries.entry(5));
        assertEquals(
                List.of(1L, 1L, 1L),
                List.of(exporter.present(), exporter.replaced(), exporter.written()));
        assertEquals(before, allFiles());
    }

    @Test
    @DisplayName(
            "D6 damaged entries are not exported but reported; those of other versions are skipped")
    void damagedEntries() throws Exception {
        FakeCatalog catalog = new FakeCatalog();
        catalog.add(entries.entry(10));
        for (DamageKind damage : List.of(DamageKind.CORRUPT, DamageKind.TOO_NEW)) {
            catalog.add(
                    TestEntries.TARGET.path(),
                    Sha256.of(damage.name().getBytes(UTF_8)),
                    new LoadResult.Damaged(damage, "for a test"));
        }
        catalog.add(
                TestEntries.TARGET.path(),
                Sha256.of(new byte[] {1}),
                new LoadResult.Unavailable("the disk is broken"));
        EntryExporter exporter =
                new EntryExporter(TreeWriter.into(root, TreeWriter.Mode.WRITE, entries.random()));
        exporter.all(catalog, catalog.all(), _ -> {});
        assertEquals(1, exporter.written());
        assertEquals(1, exporter.otherVersion());
        assertEquals(
                List.of("corrupt", "unreadable"),
                exporter.bad().stream().map(bad -> bad.reason()).toList());
    }

    @Test
    @DisplayName("T5 an export follows no link in the tree")
    void exportThroughLink() throws Exception {
        Entry entry = entries.entry(10);
        export();
        Path elsewhere = Files.createDirectory(root.resolveSibling("elsewhere"));
        Files.createSymbolicLink(root.resolve(entry.id().hash().hex()), elsewhere);
        assertThrows(NotDirectoryException.class, () -> export(entry));
        try (Stream<Path> content = Files.list(elsewhere)) {
            assertEquals(0, content.count());
        }
    }

    @Test
    @DisplayName(
            "D6 each kind of incomplete or changed entry in a tree is reported, and nothing of it"
                    + " is stored")
    void damagedTree() throws Exception {
        Entry entry = Entry.of(
                entries.id(),
                KernelBinaries.of(entries.bytes(100), entries.bytes(50)),
                Duration.ofMillis(1),
                entries.entry(1).metadata().orElseThrow());
        Path kernel = entryDirectory(entry).resolve("kernel.bin");
        Path about = entryDirectory(entry).resolve("about.txt");
        export(entry);
        byte[] flipped = Files.readAllBytes(kernel);
        flipped[7] ^= 4;
        Files.write(kernel, flipped);
        assertDamaged("do not match the SHA-256");
        Files.write(kernel, new byte[99]);
        assertDamaged("[99, 50] bytes; about.txt lists [100, 50]");
        Files.delete(kernel);
        assertDamaged("kernel.bin is missing");
        export(entry);
        Files.move(
                entryDirectory(entry).resolve("kernel.1.bin"),
                entryDirectory(entry).resolve("kernel.2.bin"));
        assertDamaged("kernel.1.bin is missing");
        export(entry);
        Files.delete(entryDirectory(entry).resolve("kernel.1.bin"));
        assertDamaged("[100] bytes; about.txt lists [100, 50]");
        export(entry);
        for (String wrong : new String[] {
            "",
            "granary-entry: 2\n",
            "no colon\n",
            "granary-entry: 1\ngranary-entry: 1\n",
            "a: \\x\n",
            "a: \\uzzzz\n"
        }) {
            Files.writeString(about, wrong);
            assertDamaged("about.txt");
        }
        Files.writeString(
                about,
                EntryDescription.text(entry).replace("compile-time: PT", "compile-time: soon"));
        assertDamaged("about.txt has an invalid value");
        try (RandomAccessFile file = new RandomAccessFile(kernel.toFile(), "rw")) {
            file.setLength((1L << 30) + 1); // sparse
        }
        assertDamaged("more than an entry can have");
        try (RandomAccessFile file = new RandomAccessFile(about.toFile(), "rw")) {
            file.setLength(TreeEntry.MAX_ABOUT_BYTES + 1);
        }
        Files.write(kernel, new byte[100]);
        assertDamaged("reads at most");
        export(entry);
        Files.write(entryDirectory(entry).resolve("key.bin"), new byte[] {1, 2, 3});
        assertDamaged("not a key of this version");
        Files.delete(entryDirectory(entry).resolve("key.bin"));
        assertDamaged("key.bin is missing");
    }

    @Test
    @DisplayName("T1 an entry under the hash of another entry is not stored")
    void movedEntry() throws Exception {
        Entry entry = entries.entry(100);
        export(entry);
        Files.move(root.resolve(entry.id().hash().hex()), root.resolve("0".repeat(64)));
        assertDamaged("does not match the hash");
    }

    @Test
    @DisplayName("D16 T5 foreign files are skipped and counted; links are not followed")
    void foreign() throws Exception {
        Entry entry = entries.entry(100);
        Entry linked = entries.entry(100);
        export(entry, linked);
        Path outside = root.resolveSibling("outside");
        Files.move(root.resolve(linked.id().hash().hex()), outside);
        Files.createSymbolicLink(root.resolve(linked.id().hash().hex()), outside);
        Files.writeString(root.resolve("README"), "");
        Files.writeString(entryDirectory(entry).resolve("notes.txt"), "");
        Files.createDirectories(root.resolve("a/b/c/d/e/f"));
        TreeReader tree = importTree();
        assertEquals(1, tree.stored());
        assertEquals(4, tree.foreign());
        assertEquals(0, tree.damaged());

        Path kernel = entryDirectory(entry).resolve("kernel.bin");
        Files.move(kernel, root.resolveSibling("kernel"));
        Files.createSymbolicLink(kernel, root.resolveSibling("kernel"));
        assertEquals("kernel.bin is missing", importTree().problems().getFirst().detail());
    }

    @Test
    @DisplayName(
            "A tree by the RFC is imported if its keys have the format of this library; an empty"
                    + " binary is damage")
    void byTheRfc() throws Exception {
        Entry entry = entries.entry(100);
        Path ownDirectory = Files.createDirectories(root.resolve("14037140681559929700/0"));
        Path backend = Files.createDirectories(root.resolve("opencl/12125041384284752820/1"));
        Path foreignDirectory = Files.createDirectories(root.resolve("12125041384284752821/0"));
        Files.writeString(root.resolve("size.txt"), "123");
        Files.write(ownDirectory.resolve("key.bin"), entry.id().bytes());
        Files.write(
                ownDirectory.resolve("kernel.bin"),
                entry.binaries().toByteArrays().getFirst());
        Entry second = entries.entry(10);
        Files.write(backend.resolve("key.bin"), second.id().bytes());
        Files.write(
                backend.resolve("kernel.bin"), second.binaries().toByteArrays().getFirst());
        Files.writeString(foreignDirectory.resolve("key.bin"), "a key of another library");
        Files.writeString(foreignDirectory.resolve("kernel.bin"), "its kernel");
        TreeReader tree = importTree();
        assertEquals(2, tree.stored(), tree.problems()::toString);
        assertEquals(1, tree.foreign());
        assertEquals(0, tree.damaged());
        Entry restored = assertThat(store.load(entry.id())).isHit();
        assertEquals(entry.binaries(), restored.binaries());
        assertEquals(Duration.ZERO, restored.compileTime());

        Files.write(ownDirectory.resolve("kernel.bin"), new byte[0]);
        assertEquals(1, importTree().damaged());
    }

    @Test
    @DisplayName("Entries that the store rejects are counted as refused, with the reason")
    void refusedByStore() throws Exception {
        export(entries.entry(1), entries.entry(2), entries.entry(3), entries.entry(4));
        List<StoreResult> results = List.of(
                new StoreResult.Refused(StoreResult.Scope.ENTRY, "no"),
                new StoreResult.Failed("full"),
                new StoreResult.Unknown("outcome unknown"),
                StoreResult.DIVERGENT);
        int[] calls = {0};
        TreeReader tree = TreeReader.from(root);
        tree.all(_ -> results.get(calls[0]++), _ -> {});
        assertEquals(4, tree.refused());
        assertEquals(
                List.of("no", "full", "outcome unknown"),
                tree.problems().stream()
                        .limit(3)
                        .map(TreeReader.Problem::detail)
                        .toList());
    }

    @Test
    @DisplayName(
            "A missing directory, a file, and a directory without entries are no trees; an empty"
                    + " export is one")
    void noTree() throws Exception {
        assertThrows(TreeException.class, this::importTree);
        Files.createDirectories(root);
        assertThrows(TreeException.class, this::importTree);
        Files.writeString(root.resolve("file"), "");
        assertThrows(TreeException.class, () -> TreeReader.from(root.resolve("file")));
        Files.delete(root.resolve("file"));
        export();
        assertEquals(0, importTree().size());
    }
}
