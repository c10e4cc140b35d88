package dev.granary.wrap;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.granary.cache.Entry;
import dev.granary.cache.Id;
import dev.granary.cache.KernelBinaries;
import dev.granary.cache.Sha256;
import dev.granary.cache.Target;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SequencedMap;
import java.util.Set;
import java.util.StringJoiner;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The content of files that are shared as a whole: one file, or all files of a directory. Its entry
 * has the path in the id. The first binary has a line with the length and the name of each file,
 * the second one their contents, in this order.
 *
 * @param path the path below the directory of the tool, with slashes
 * @param files the contents by path below {@code path}; of a single file by the empty text
 */
record FileGroup(String path, SequencedMap<String, MemorySegment> files) {
    private static final int MAX_INDEX_BYTES = 4 << 20;
    private static final Pattern LINE = Pattern.compile("(\\d{1,10}) (.*)");
    private static final int MAX_PATH = 1_000;
    private static final int MAX_NAME = 200; // file systems permit 255 bytes
    private static final int MAX_DEPTH = 32;

    /** Names that no file system gives another meaning, and that the locale can represent. */
    private static final Pattern NAME =
            Pattern.compile("(?!\\.\\.?$)[^/\\\\:*?\"<>|\\p{Cc}\\u2028\\u2029\\ufffd]+(?<![. ])");

    private static final Pattern DEVICE =
            Pattern.compile("(?i)(con|prn|aux|nul|com\\d|lpt\\d)(\\..*)?");

    /** Returns whether a path below a directory stays there, on each system. */
    static boolean isSafe(String path) {
        String[] names = path.split("/", -1);
        if (path.length() > MAX_PATH
                || names.length > MAX_DEPTH
                || !UTF_8.newEncoder().canEncode(path)) {
            return false;
        }
        for (String name : names) {
            if (!NAME.matcher(name).matches()
                    || DEVICE.matcher(name).matches()
                    || name.getBytes(UTF_8).length > MAX_NAME) {
                return false;
            }
        }
        return true;
    }

    /**
     * Returns the id of a group.
     *
     * @param content the hash of its content if the tool rewrites files; else empty: the first
     *     content that is published stays
     */
    static Id id(Target scope, String path, Optional<Sha256> content) {
        Id.Builder id = Id.builder(scope).field("kind", "file").field("path", path);
        content.ifPresent(hash -> id.field("content", hash.bytes()));
        return id.build();
    }

    /** Returns the path in an id; empty text if it has none, or several. */
    static String path(Id id) {
        List<Id.Field> paths = id.fields().stream()
                .filter(field -> field.name().equals("path"))
                .toList();
        return paths.size() == 1 ? paths.getFirst().text() : "";
    }

    /** Returns the binaries of the entry. */
    KernelBinaries binaries() {
        StringJoiner index = new StringJoiner("\n");
        MemorySegment contents = MemorySegment.ofArray(new byte[Math.toIntExact(bytes())]);
        long at = 0;
        for (Map.Entry<String, MemorySegment> file : files.entrySet()) {
            index.add(file.getValue().byteSize() + " " + file.getKey());
            contents.asSlice(at).copyFrom(file.getValue());
            at += file.getValue().byteSize();
        }
        byte[] names = index.toString().getBytes(UTF_8);
        return KernelBinaries.ofSegments(List.of(MemorySegment.ofArray(names), contents));
    }

    /** Returns the hash of names and contents. */
    Sha256 hash() {
        KernelBinaries all = binaries();
        return Entry.contentHash(Id.notCacheable("only the content is hashed"), all);
    }

    /**
     * Returns the group of an entry, whose content anybody may have made; empty if it is not a
     * group of this scope with names that are safe on each system.
     */
    static Optional<FileGroup> of(Entry entry, Target scope) {
        String path = path(entry.id());
        KernelBinaries binaries = entry.binaries();
        if (!entry.id().target().equals(scope)
                || binaries.segments().size() != 2
                || binaries.segments().getFirst().byteSize() > MAX_INDEX_BYTES) {
            return Optional.empty();
        }
        try {
            byte[] index = binaries.segments().getFirst().toArray(ValueLayout.JAVA_BYTE);
            String lines = UTF_8.newDecoder().decode(ByteBuffer.wrap(index)).toString();
            return files(path, lines.split("\n", -1), binaries.segments().get(1))
                    .map(files -> new FileGroup(path, files));
        } catch (CharacterCodingException e) {
            return Optional.empty();
        }
    }

    private static Optional<SequencedMap<String, MemorySegment>> files(
            String path, String[] lines, MemorySegment contents) {
        SequencedMap<String, MemorySegment> files = new LinkedHashMap<>();
        Set<String> names = new TreeSet<>(String.CASE_INSENSITIVE_ORDER);
        long at = 0;
        for (String line : lines) {
            Matcher file = LINE.matcher(line);
            if (!file.matches()) {
                return Optional.empty();
            }
            long length = Long.parseLong(file.group(1));
            String name = file.group(2);
            if (length > contents.byteSize() - at
                    || !isSafe(name.isEmpty() && lines.length == 1 ? path : path + "/" + name)
                    || !names.add(name)) {
                return Optional.empty();
            }
            files.put(name, contents.asSlice(at, length));
            at += length;
        }
        return at == contents.byteSize() ? Optional.of(files) : Optional.empty();
    }

    /** Returns the length of all contents. */
    long bytes() {
        return files.values().stream().mapToLong(MemorySegment::byteSize).sum();
    }
}
