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
 * Reads a plain tree of files back, checks every entry and hands it on. Not thread-safe.
 *
 * <p>What is checked finds damage. A tree that somebody made up on purpose is not found out: import trees of people who may run programs
 * here.
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
     * @param detail why, for people
     */
    public record Problem(Path place, String reason, String detail) {}

    private TreeReader(Path root, TreeScanner scan) {
        this.root = root;
        this.entries = scan.entries();
        this.foreign = scan.foreign();
    }

    /**
     * Looks through the tree at {@code root}.
     *
     * @throws TreeException if there is no tree
     * @throws IOException if it cannot be read
     */
    public static TreeReader from(Path root) throws TreeException, IOException {
        Path directory = root.toAbsolutePath().normalize();
        if (!Files.isDirectory(directory)) {
            throw new TreeException(root + (Files.exists(directory) ? " is not a directory" : " does not exist")
                    + "; name a directory that granary export made");
        }
        TreeScanner scan = TreeScanner.of(directory);
        if (scan.entries().isEmpty() && !TreeScanner.isMarked(directory)) {
            throw new TreeException(root + " holds no entries; name a directory that granary export made");
        }
        return new TreeReader(directory, scan);
    }

    /** How many directories look like entries. */
    public int size() {
        return entries.size();
    }

    /**
     * Reads and checks every entry and hands the sound ones to {@code store}.
     *
     * @param store stores an entry, which must not be used after that, or says what storing it would give
     * @param progress told the number of each entry before it is read
     */
    public void all(Function<Entry, StoreResult> store, IntConsumer progress) {
        for (int i = 0; i < entries.size(); i++) {
            progress.accept(i);
            Path place = entries.get(i);
            try (Arena memory = Arena.ofConfined()) {
                switch (TreeEntry.read(place, memory)) {
                    case TreeEntry.Sound(Entry entry) -> count(place, entry, store.apply(entry));
                    case TreeEntry.Damaged(String detail) -> {
                        damaged++;
                        problems.add(new Problem(root.relativize(place), "damaged", detail));
                    }
                    case TreeEntry.Foreign() -> foreign++;
                }
            }
        }
    }

    private void count(Path place, Entry entry, StoreResult result) {
        switch (result) {
            case StoreResult.Stored _ -> {
                stored++;
                storedBytes += entry.id().length() + entry.binaries().byteSize();
            }
            case StoreResult.Duplicate _ -> duplicate++;
            case StoreResult.Divergent _ -> refuse(place, "another entry of this id is there, with other binaries");
            case StoreResult.Refused no -> refuse(place, no.reason());
            case StoreResult.Failed no -> refuse(place, no.cause());
            case StoreResult.Unknown no -> refuse(place, no.cause());
        }
    }

    private void refuse(Path place, String detail) {
        refused++;
        problems.add(new Problem(root.relativize(place), "refused", detail));
    }

    /** Entries that were stored. */
    public long stored() {
        return stored;
    }

    /** The length of their keys and binaries, in bytes. */
    public long storedBytes() {
        return storedBytes;
    }

    /** Entries that were there with the same content. */
    public long duplicate() {
        return duplicate;
    }

    /** Entries that the store did not take. */
    public long refused() {
        return refused;
    }

    /** Entries that are not whole, or contradict themselves. */
    public long damaged() {
        return damaged;
    }

    /** Files, links, directories and other libraries' entries, which were passed over. */
    public long foreign() {
        return foreign;
    }

    /** Each entry that was refused or damaged. */
    public List<Problem> problems() {
        return List.copyOf(problems);
    }
}
