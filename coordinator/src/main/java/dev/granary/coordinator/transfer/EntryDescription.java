package dev.granary.coordinator.transfer;

import dev.granary.cache.Entry;
import dev.granary.cache.EntryMetadata;
import dev.granary.cache.Sha256;
import dev.granary.cache.Target;

import java.lang.foreign.MemorySegment;
import java.time.DateTimeException;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * Fields of {@code about.txt} that an import reads: those that key and binaries do not contain, and
 * the lengths of the binaries to compare. The file has lines of {@code name: value}, of which some
 * are for people only.
 *
 * @param compileTime the compile time of the entry
 * @param contentHash the {@link Entry#contentHash()}
 * @param binaryBytes the length of each binary in bytes, in order
 * @param metadata the metadata of the entry; empty if the file has no producer, as if the exported
 *     entry had no readable metadata
 */
public record EntryDescription(
        Duration compileTime,
        Sha256 contentHash,
        List<Long> binaryBytes,
        Optional<EntryMetadata> metadata) {
    private static final String FORMAT = "granary-entry";
    private static final String VERSION = "1";

    /** Returns the text for an entry. */
    public static String text(Entry entry) {
        Target target = entry.id().target();
        StringBuilder text = new StringBuilder();
        line(text, FORMAT, VERSION);
        line(text, "id", entry.id().hash().hex());
        line(text, "target", target.path());
        line(text, "vendor", target.vendor());
        line(text, "device", target.device());
        line(text, "driver", target.driver());
        line(text, "key-bytes", Integer.toString(entry.id().length()));
        for (MemorySegment binary : entry.binaries().segments()) {
            line(text, "binary-bytes", Long.toString(binary.byteSize()));
        }
        line(text, "content-sha256", entry.contentHash().hex());
        line(text, "compile-time", entry.compileTime().toString());
        entry.metadata().ifPresent(metadata -> {
            metadata.kernels().forEach(kernel -> line(text, "kernel", kernel));
            metadata.geometries().forEach(geometry -> line(text, "geometry", geometry));
            line(text, "producer", metadata.producer());
            line(text, "library-version", metadata.libraryVersion());
            line(text, "created-at", metadata.createdAt().toString());
            line(text, "key", metadata.readableKey());
        });
        return text.toString();
    }

    /**
     * Parses such a text. Lines with unknown names are ignored.
     *
     * @throws TreeException if the text is not a description
     */
    public static EntryDescription parse(String text) throws TreeException {
        Map<String, List<String>> values = new HashMap<>();
        for (int start = 0; start <= text.length(); ) { // line by line, since a text may be long
            int end = text.indexOf('\n', start) < 0 ? text.length() : text.indexOf('\n', start);
            String line = text.substring(start, end);
            start = end + 1;
            int colon = line.indexOf(": ");
            if (colon >= 0) {
                values.computeIfAbsent(line.substring(0, colon), _ -> new ArrayList<>())
                        .add(unescape(line.substring(colon + 2)));
            } else if (!line.isEmpty()) {
                throw new TreeException("about.txt has a line that is not 'name: value'");
            }
        }
        if (!single(values, FORMAT).equals(VERSION)) {
            throw new TreeException("about.txt is of version " + single(values, FORMAT)
                    + "; this version reads " + VERSION);
        }
        try {
            List<Long> lengths = values.getOrDefault("binary-bytes", List.of()).stream()
                    .map(Long::valueOf)
                    .toList();
            return new EntryDescription(
                    Duration.parse(single(values, "compile-time")),
                    Sha256.parse(single(values, "content-sha256")),
                    lengths,
                    values.containsKey("producer")
                            ? Optional.of(metadata(values))
                            : Optional.empty());
        } catch (DateTimeException | IllegalArgumentException e) {
            throw new TreeException("about.txt has an invalid value: " + e.getMessage());
        }
    }

    private static EntryMetadata metadata(Map<String, List<String>> values) throws TreeException {
        return new EntryMetadata(
                single(values, "library-version"),
                single(values, "producer"),
                Instant.parse(single(values, "created-at")),
                values.getOrDefault("kernel", List.of()),
                values.getOrDefault("geometry", List.of()),
                single(values, "key"));
    }

    private static String single(Map<String, List<String>> values, String name)
            throws TreeException {
        List<String> matches = values.getOrDefault(name, List.of());
        if (matches.size() != 1) {
            throw new TreeException(
                    "about.txt has " + matches.size() + " lines '" + name + "', not one");
        }
        return matches.getFirst();
    }

    /**
     * Appends a line. Values are untrusted: characters that break a line or control a terminal are
     * escaped.
     */
    private static void line(StringBuilder text, String name, String value) {
        text.append(name).append(": ");
        for (int i = 0; i < value.length(); i++) {
            char c = value.charAt(i);
            if (c == '\\') {
                text.append("\\\\");
            } else if (Character.isISOControl(c)
                    || (Character.isSurrogate(c) && !isInPair(value, i))) {
                text.append(String.format("\\u%04x", (int) c));
            } else {
                text.append(c);
            }
        }
        text.append('\n');
    }

    private static boolean isInPair(String value, int i) {
        return Character.isHighSurrogate(value.charAt(i))
                ? i + 1 < value.length() && Character.isLowSurrogate(value.charAt(i + 1))
                : i > 0 && Character.isHighSurrogate(value.charAt(i - 1));
    }

    private static String unescape(String value) throws TreeException {
        StringBuilder text = new StringBuilder(value.length());
        int position = 0;
        while (position < value.length()) {
            int slash = value.indexOf('\\', position);
            if (slash < 0) {
                return text.append(value, position, value.length()).toString();
            }
            text.append(value, position, slash);
            if (value.startsWith("\\\\", slash)) {
                text.append('\\');
                position = slash + 2;
            } else if (value.startsWith("\\u", slash) && value.length() >= slash + 6) {
                text.append(code(value.substring(slash + 2, slash + 6)));
                position = slash + 6;
            } else {
                throw new TreeException("about.txt has an unknown escape sequence");
            }
        }
        return text.toString();
    }

    private static char code(String digits) throws TreeException {
        try {
            return (char) Integer.parseInt(digits, 16);
        } catch (NumberFormatException e) {
            throw new TreeException("about.txt has an unknown escape sequence");
        }
    }
}
