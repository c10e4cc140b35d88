package dev.granary.coordinator.transfer;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.granary.cache.Entry;
import dev.granary.cache.EntryMetadata;
import dev.granary.cache.Id;
import dev.granary.cache.KernelBinaries;
import dev.granary.cache.format.EntryFormat;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/** Result of reading one directory of a tree, with all possible checks. */
public sealed interface TreeEntry {
    /** The longest {@code about.txt} that is read, in bytes. */
    long MAX_ABOUT_BYTES = 64 << 20;

    /** An entry that passed all checks. */
    record Sound(Entry entry) implements TreeEntry {}

    /** A part of an entry, or an entry whose files contradict each other. */
    record Damaged(String detail) implements TreeEntry {
        private static final int MAX_CHARACTERS = 240;

        /**
         * Creates a result with a truncated detail: it quotes files, and the details of all entries
         * are kept until the end.
         */
        public Damaged {
            detail = detail.length() <= MAX_CHARACTERS
                    ? detail
                    : detail.substring(0, MAX_CHARACTERS) + "...";
        }
    }

    /**
     * An entry without {@code about.txt} whose key is not one of this version, as other libraries
     * write it.
     */
    record Foreign() implements TreeEntry {}

    /**
     * Reads and checks the entry in {@code directory}. The result is valid as long as
     * {@code memory}, which its binaries are allocated in.
     */
    static TreeEntry read(Path directory, Arena memory) {
        try {
            return read(directory, TreeScanner.entryFiles(directory).files(), memory);
        } catch (TreeException e) {
            return new Damaged(String.valueOf(e.getMessage()));
        } catch (IOException e) {
            return new Damaged("cannot be read: " + e);
        } catch (OutOfMemoryError e) {
            // its files may be as long as an entry, and those of the next one shorter
            return new Damaged("needs more memory than this process has left");
        }
    }

    private static TreeEntry read(Path directory, Set<String> files, Arena memory)
            throws IOException, TreeException {
        boolean hasAbout = files.contains(TreeNames.ABOUT);
        int kernels = files.size() - (hasAbout ? 1 : 0) - (files.contains(TreeNames.KEY) ? 1 : 0);
        List<String> required = new ArrayList<>(List.of(TreeNames.KEY));
        for (int i = 0; i < Math.max(1, kernels); i++) {
            required.add(TreeNames.kernel(i));
        }
        for (String name : required) {
            if (!files.contains(name)) {
                return new Damaged(name + " is missing");
            }
        }
        List<Long> lengths = lengths(directory, required);
        byte[] key = RegularFiles.read(directory.resolve(TreeNames.KEY), lengths.getFirst(), memory)
                .toArray(ValueLayout.JAVA_BYTE);
        Optional<Id> id = Id.parse(key);
        if (id.isEmpty()) {
            return hasAbout
                    ? new Damaged(TreeNames.KEY + " is not a key of this version")
                    : new Foreign();
        }
        Path bucket = directory.getParent();
        String name = bucket == null || bucket.getFileName() == null
                ? ""
                : bucket.getFileName().toString();
        if (TreeNames.isHash(name) && !name.equals(id.get().hash().hex())) {
            return new Damaged(
                    TreeNames.KEY + " does not match the hash in the name of the directory");
        }
        List<MemorySegment> binaries = new ArrayList<>();
        for (int i = 0; i < kernels; i++) {
            binaries.add(RegularFiles.read(
                    directory.resolve(TreeNames.kernel(i)), lengths.get(i + 1), memory));
        }
        KernelBinaries all = KernelBinaries.ofSegments(binaries);
        return hasAbout
                ? described(id.get(), all, about(directory, memory))
                : undescribed(id.get(), all, directory);
    }

    /** Returns the lengths of the files, which are read only if all of them fit into an entry. */
    private static List<Long> lengths(Path directory, List<String> names)
            throws IOException, TreeException {
        List<Long> lengths = new ArrayList<>();
        long sum = 0;
        for (String name : names) {
            long bytes = RegularFiles.attributes(directory.resolve(name)).size();
            sum += bytes;
            if (bytes > (name.equals(TreeNames.KEY) ? Id.MAX_BYTES : EntryFormat.MAX_BYTES)
                    || sum > EntryFormat.MAX_BYTES) {
                throw new TreeException(
                        name + " of " + bytes + " bytes is more than an entry can have");
            }
            lengths.add(bytes);
        }
        return lengths;
    }

    private static EntryDescription about(Path directory, Arena memory)
            throws IOException, TreeException {
        Path file = directory.resolve(TreeNames.ABOUT);
        long bytes = RegularFiles.attributes(file).size();
        if (bytes > MAX_ABOUT_BYTES) {
            throw new TreeException(TreeNames.ABOUT + " has " + bytes
                    + " bytes; this version reads at most " + MAX_ABOUT_BYTES);
        }
        return EntryDescription.parse(new String(
                RegularFiles.read(file, bytes, memory).toArray(ValueLayout.JAVA_BYTE), UTF_8));
    }

    private static TreeEntry described(Id id, KernelBinaries binaries, EntryDescription about) {
        List<Long> lengths =
                binaries.segments().stream().map(MemorySegment::byteSize).toList();
        if (!lengths.equals(about.binaryBytes())) {
            return new Damaged("the binaries have " + lengths + " bytes; " + TreeNames.ABOUT
                    + " lists " + about.binaryBytes());
        }
        Entry entry = Entry.of(
                id, binaries, about.compileTime(), about.metadata().orElseGet(TreeEntry::unknown));
        return entry.contentHash().equals(about.contentHash())
                ? new Sound(entry)
                : new Damaged("key and binaries do not match the SHA-256 in " + TreeNames.ABOUT);
    }

    /**
     * Creates an entry without {@code about.txt}: its compile time and metadata are unknown, and
     * its binaries have no checksum.
     */
    private static TreeEntry undescribed(Id id, KernelBinaries binaries, Path directory)
            throws IOException {
        if (binaries.segments().stream().anyMatch(binary -> binary.byteSize() == 0)) {
            return new Damaged("a binary is empty, perhaps because its writer was interrupted");
        }
        return new Sound(Entry.of(
                id,
                binaries,
                Duration.ZERO,
                new EntryMetadata(
                        "unknown",
                        "granary import",
                        RegularFiles.attributes(directory.resolve(TreeNames.KEY))
                                .lastModifiedTime()
                                .toInstant(),
                        List.of(),
                        List.of(),
                        "")));
    }

    private static EntryMetadata unknown() {
        return new EntryMetadata(
                "unknown", "granary import", Instant.EPOCH, List.of(), List.of(), "");
    }
}
