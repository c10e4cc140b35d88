package dev.granary.coordinator.transfer;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.cache.Entry;
import dev.granary.cache.StoreResult;
import dev.granary.cache.contract.TestEntries;
import dev.granary.cache.format.Compression;
import dev.granary.cache.format.EntryFormat;
import dev.granary.cache.format.WriteAttemptId;
import dev.granary.cache.fuzz.FileFuzzer;
import dev.granary.cache.fuzz.FuzzTarget;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** Fuzz test of the files of an exported tree. */
class TreeFuzzTest {
    @TempDir
    private Path directory = Path.of("");

    @Test
    @DisplayName("Fuzz: a changed entry is imported, damaged or foreign, and the other entry is"
            + " imported")
    void tree() throws Exception {
        TestEntries entries = new TestEntries("fuzz tree");
        Path root = directory.resolve("tree");
        TreeWriter writer = TreeWriter.into(root, TreeWriter.Mode.WRITE, entries.random());
        Entry changed = entries.entry(40);
        Entry other = entries.entry(30);
        writer.write(changed);
        writer.write(other);
        Path entryDirectory = root.resolve(changed.id().hash().hex()).resolve("0");
        List<Path> files = List.of(
                entryDirectory.resolve("about.txt"),
                entryDirectory.resolve("key.bin"),
                entryDirectory.resolve("kernel.bin"));
        List<byte[]> sound = new ArrayList<>();
        for (Path file : files) {
            sound.add(Files.readAllBytes(file));
        }
        for (int i = 0; i < files.size(); i++) {
            Path file = files.get(i);
            FileFuzzer.run(
                    file,
                    FuzzTarget.of("tree " + file.getFileName(), List.of(sound.get(i)), bytes -> {
                                TreeReader tree = TreeReader.from(root);
                                tree.all(
                                        entry -> {
                                            EntryFormat.encode(
                                                    entry, Compression.NONE, WriteAttemptId.NONE);
                                            return new StoreResult.Stored(1);
                                        },
                                        _ -> {});
                                assertTrue(tree.stored() >= 1, tree.problems()::toString);
                                assertEquals(2, tree.stored() + tree.damaged() + tree.foreign());
                            })
                            .words(List.of(
                                    ": ",
                                    "\n",
                                    "\\u0000",
                                    "\\",
                                    "created-at: +292278995-01-01T00:00:00Z",
                                    "created-at: -1000000000-01-01T00:00:00Z",
                                    "compile-time: PT9223372036854775807S",
                                    "granary-entry: 1",
                                    "binary-bytes: 40",
                                    "producer: x",
                                    "key: "))
                            .allocating(2000),
                    FileFuzzer.runs(50));
            Files.write(file, sound.get(i));
        }
    }
}
