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

/** What one directory of a tree turned out to hold, after all that can be checked was. */
public sealed interface TreeEntry {
    /** The longest {@code about.txt} that is read, in bytes. */
    long MAX_ABOUT_BYTES = 64 << 20;

    /** An entry, as sound as its files can tell. */
    record Sound(Entry entry) implements TreeEntry {}

    /** Part of an entry, or one that its own files contradict. */
    record Damaged(String detail) implements TreeEntry {
        private static final int MAX_CHARACTERS = 240;

        /** Cuts the detail: it repeats what a file says, and those of all entries are kept until the end. */
        public Damaged {
            detail = detail.length() <= MAX_CHARACTERS ? detail : detail.substring(0, MAX_CHARACTERS) + "...";
        }
    }

    /** Another library's entry: its key is not one of ours. */
    record Foreign() implements TreeEntry {}

    /** Reads and checks the entry in {@code directory}; its binaries lie in {@code memory}. */
    static TreeEntry read(Path directory, Arena memory) {
        try {
            return read(directory, TreeScanner.look(directory).files(), memory);
        } catch (TreeException e) {
            return new Damaged(String.valueOf(e.getMessage()));
        } catch (IOException e) {
            return new Damaged("cannot be read: " + e);
        } catch (OutOfMemoryError e) {
            return new Damaged("needs more memory than this process has left"); // its files can be as long as an entry, and the next one shorter
        }
    }

    private static TreeEntry read(Path directory, Set<String> files, Arena memory) throws IOException, TreeException {
        boolean isAbout = files.contains(TreeNames.ABOUT);
        int kernels = files.size() - (isAbout ? 1 : 0) - (files.contains(TreeNames.KEY) ? 1 : 0);
        List<String> wanted = new ArrayList<>(List.of(TreeNames.KEY));
        for (int i = 0; i < Math.max(1, kernels); i++) {
            wanted.add(TreeNames.kernel(i));
        }
        for (String name : wanted) {
            if (!files.contains(name)) {
                return new Damaged(name + " is missing");
            }
        }
        List<Long> lengths = lengths(directory, wanted);
        byte[] key = RegularFiles.read(directory.resolve(TreeNames.KEY), lengths.getFirst(), memory).toArray(ValueLayout.JAVA_BYTE);
        Optional<Id> id = Id.parse(key);
        if (id.isEmpty()) {
            return isAbout ? new Damaged(TreeNames.KEY + " is no key that this version knows") : new Foreign();
        }
        Path bucket = directory.getParent();
        String name = bucket == null || bucket.getFileName() == null ? "" : bucket.getFileName().toString();
        if (TreeNames.isHash(name) && !name.equals(id.get().hash().hex())) {
            return new Damaged(TreeNames.KEY + " has not the hash that the directory is named after");
        }
        List<MemorySegment> binaries = new ArrayList<>();
        for (int i = 0; i < kernels; i++) {
            binaries.add(RegularFiles.read(directory.resolve(TreeNames.kernel(i)), lengths.get(i + 1), memory));
        }
        KernelBinaries all = KernelBinaries.ofSegments(binaries);
        return isAbout ? told(id.get(), all, about(directory, memory)) : untold(id.get(), all, directory);
    }

    /** The lengths of the files, none of which is read before all are known to fit an entry. */
    private static List<Long> lengths(Path directory, List<String> names) throws IOException, TreeException {
        List<Long> lengths = new ArrayList<>();
        long sum = 0;
        for (String name : names) {
            long bytes = RegularFiles.attributes(directory.resolve(name)).size();
            sum += bytes;
            if (bytes > (name.equals(TreeNames.KEY) ? Id.MAX_BYTES : EntryFormat.MAX_BYTES) || sum > EntryFormat.MAX_BYTES) {
                throw new TreeException(name + " of " + bytes + " bytes is more than an entry can have");
            }
            lengths.add(bytes);
        }
        return lengths;
    }

    private static EntryDescription about(Path directory, Arena memory) throws IOException, TreeException {
        Path file = directory.resolve(TreeNames.ABOUT);
        long bytes = RegularFiles.attributes(file).size();
        if (bytes > MAX_ABOUT_BYTES) {
            throw new TreeException(TreeNames.ABOUT + " has " + bytes + " bytes; this version reads at most " + MAX_ABOUT_BYTES);
        }
        return EntryDescription.parse(new String(RegularFiles.read(file, bytes, memory).toArray(ValueLayout.JAVA_BYTE), UTF_8));
    }

    private static TreeEntry told(Id id, KernelBinaries binaries, EntryDescription about) {
        List<Long> lengths = binaries.segments().stream().map(MemorySegment::byteSize).toList();
        if (!lengths.equals(about.binaryBytes())) {
            return new Damaged("the binaries have " + lengths + " bytes; " + TreeNames.ABOUT + " says " + about.binaryBytes());
        }
        Entry entry = Entry.of(id, binaries, about.compileTime(), about.metadata().orElseGet(TreeEntry::unknown));
        return entry.contentHash().equals(about.contentHash())
                ? new Sound(entry)
                : new Damaged("key and binaries do not match the SHA-256 in " + TreeNames.ABOUT);
    }

    /** A tree without what is ours tells no compile time and no metadata, and nothing to hold the binaries against. */
    private static TreeEntry untold(Id id, KernelBinaries binaries, Path directory) throws IOException {
        if (binaries.segments().stream().anyMatch(binary -> binary.byteSize() == 0)) {
            return new Damaged("a binary is empty, as a writer leaves it that was interrupted");
        }
        return new Sound(Entry.of(id, binaries, Duration.ZERO, new EntryMetadata("unknown", "granary import",
                RegularFiles.attributes(directory.resolve(TreeNames.KEY)).lastModifiedTime().toInstant(), List.of(), List.of(), "")));
    }

    private static EntryMetadata unknown() {
        return new EntryMetadata("unknown", "granary import", Instant.EPOCH, List.of(), List.of(), "");
    }
}
