package dev.granary.coordinator.transfer;

import dev.granary.cache.Entry;
import dev.granary.cache.StoreResult;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Function;
import java.util.function.IntConsumer;

/**
 * Reader of a tree of plain files, which checks each entry and passes it on. Not thread-safe.
 *
 * <p>The checks find damage. They do not detect a tree that was forged: import only the trees of
 * people who may run programs here.
 */
public final class TreeReader {
    private final Path root;
    private final List<Path> entries;
    private final List<Problem> problems = new ArrayList<>();
    private long foreign;
    private long stored;
    private long storedBytes;
    private long duplicate;
    private long refused;
    private long damaged;

    /**
     * An entry that was not imported.
     *
     * @param place its directory, relative to the tree
     * @param reason {@code damaged} or {@code refused}
     * @param detail the details, for people
     */
    public record Problem(Path place, String reason, String detail) {}

    private TreeReader(Path root, TreeScanner scan) {
        this.root = root;
        this.entries = scan.entries();
        this.foreign = scan.foreign();
    }

    /**
     * Scans the tree at {@code root}.
     *
     * @throws TreeException if there is no tree
     * @throws IOException if it cannot be read
     */
    public static TreeReader from(Path root) throws TreeException, IOException {
        Path directory = root.toAbsolutePath().normalize();
        if (!Files.isDirectory(directory)) {
            throw new TreeException(
                    root + (Files.exists(directory) ? " is not a directory" : " does not exist")
                            + "; name a directory that granary export made");
        }
        TreeScanner scan = TreeScanner.of(directory);
        if (scan.entries().isEmpty() && !TreeScanner.isMarked(directory)) {
            throw new TreeException(
                    root + " holds no entries; name a directory that granary export made");
        }
        return new TreeReader(directory, scan);
    }

    /** Returns the number of directories that look like entries. */
    public int size() {
        return entries.size();
    }

    /**
     * Reads and checks every entry and passes the sound ones to {@code store}.
     *
     * @param store stores an entry, which must not be used later, or returns the result that
     *     storing it would have
     * @param progress receives the position of each entry before it is read
     */
    public void all(Function<Entry, StoreResult> store, IntConsumer progress) {
        for (int i = 0; i < entries.size(); i++) {
            progress.accept(i);
            Path directory = entries.get(i);
            try (Arena memory = Arena.ofConfined()) {
                switch (TreeEntry.read(directory, memory)) {
                    case TreeEntry.Sound(Entry entry) ->
                        count(directory, entry, store.apply(entry));
                    case TreeEntry.Damaged(String detail) -> {
                        damaged++;
                        problems.add(new Problem(root.relativize(directory), "damaged", detail));
                    }
                    case TreeEntry.Foreign() -> foreign++;
                }
            }
        }
    }

    private void count(Path directory, Entry entry, StoreResult result) {
        switch (result) {
            case StoreResult.Stored _ -> {
                stored++;
                storedBytes += entry.id().length() + entry.binaries().byteSize();
            }
            case StoreResult.Duplicate _ -> duplicate++;
            case StoreResult.Divergent _ ->
                refuse(directory, "the tier has an entry of this id with other binaries");
            case StoreResult.Refused refused -> refuse(directory, refused.reason());
            case StoreResult.Failed failure -> refuse(directory, failure.cause());
            case StoreResult.Unknown failure -> refuse(directory, failure.cause());
        }
    }

    private void refuse(Path directory, String detail) {
        refused++;
        problems.add(new Problem(root.relativize(directory), "refused", detail));
    }

    /** Returns the number of stored entries. */
    public long stored() {
        return stored;
    }

    /** Returns the length of the stored keys and binaries in bytes. */
    public long storedBytes() {
        return storedBytes;
    }

    /** Returns the number of entries that were present with the same content. */
    public long duplicate() {
        return duplicate;
    }

    /** Returns the number of entries that the store refused. */
    public long refused() {
        return refused;
    }

    /** Returns the number of entries that are incomplete or contradict themselves. */
    public long damaged() {
        return damaged;
    }

    /** Returns the number of skipped files, links, directories and entries of other libraries. */
    public long foreign() {
        return foreign;
    }

    /** Returns the entries that were refused or damaged. */
    public List<Problem> problems() {
        return List.copyOf(problems);
    }
}
