package dev.granary.cache.support;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.granary.cache.Id;
import dev.granary.cache.Sha256;

import java.io.IOException;
import java.util.Arrays;
import java.util.Collection;
import java.util.HexFormat;
import java.util.Optional;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import java.util.stream.LongStream;

/**
 * Pins of a shared store: named lists of entries that no collection removes. A damaged pin is a
 * failure, since it must not be read as a smaller one. Thread-safe.
 */
public interface PinStore {
    /** The form of names. */
    String NAME = "[a-z0-9_-][a-z0-9._-]{0,99}";

    /**
     * A pin. It is stored as text: {@code pin 1} and the SHA-256 of the other lines; then for each
     * namespace a line with it and the first eight bytes of the hash of each id, as digits.
     *
     * @param writtenMillis when it was written, by the store's clock, in milliseconds since 1970
     * @param ids by namespace, the first eight bytes of the hash of each id, each once
     */
    record Pin(String name, long writtenMillis, SortedMap<String, long[]> ids) {
        /** The largest length of a stored pin, that of 900,000 ids. */
        public static final int MAX_BYTES = 16 << 20;

        /** Returns a pin of these ids as it is stored. */
        public static byte[] encode(Collection<Id> ids) {
            String lines = ids.stream()
                    .collect(Collectors.groupingBy(
                            id -> id.target().path(),
                            TreeMap::new,
                            Collectors.mapping(Pin::digits, Collectors.toCollection(TreeSet::new))))
                    .entrySet()
                    .stream()
                    .map(each -> each.getKey() + " " + String.join(" ", each.getValue()) + "\n")
                    .collect(Collectors.joining());
            return (header(lines) + lines).getBytes(UTF_8);
        }

        /**
         * Returns a stored pin.
         *
         * @throws IOException if the content is none
         */
        public static Pin decode(String name, long writtenMillis, byte[] stored)
                throws IOException {
            String content = new String(stored, UTF_8);
            String lines = content.substring(content.indexOf('\n') + 1);
            if (!content.equals(header(lines) + lines)) {
                throw damaged(name);
            }
            SortedMap<String, long[]> ids = new TreeMap<>();
            try {
                lines.lines()
                        .map(line -> line.split(" "))
                        .forEach(words -> ids.put(words[0], prefixes(words)));
            } catch (RuntimeException e) { // arbitrary words
                throw damaged(name);
            }
            return new Pin(name, writtenMillis, ids);
        }

        private static long[] prefixes(String[] words) {
            return Arrays.stream(words)
                    .skip(1)
                    .mapToLong(HexFormat::fromHexDigitsToLong)
                    .toArray();
        }

        private static String digits(Id id) {
            return HexFormat.of().toHexDigits(id.hash().prefix());
        }

        /** Returns the failure of a pin that cannot be understood. */
        public static IOException damaged(String name) {
            return new IOException("pin " + name + " is damaged, or a newer version wrote it;"
                    + " populate with --pin writes it again, collect --unpin removes it");
        }

        /** Returns the number of ids. */
        public long entries() {
            return ids.values().stream().flatMapToLong(LongStream::of).count();
        }

        private static String header(String lines) {
            return "pin 1 " + Sha256.of(lines.getBytes(UTF_8)).hex() + "\n";
        }
    }

    /**
     * Returns {@code name}.
     *
     * @throws IllegalArgumentException if it is not the name of a pin
     */
    static String requireName(String name) {
        if (!name.matches(NAME)) {
            throw new IllegalArgumentException("Not the name of a pin: " + name);
        }
        return name;
    }

    /**
     * Writes a pin of these ids, in place of an earlier one of the name.
     *
     * @return the cause of a failure; empty if the pin is there
     */
    Optional<String> write(String name, Collection<Id> ids);

    /**
     * Removes a pin, sound or not.
     *
     * @return false if there is none
     * @throws IOException if it is not known whether it was removed
     */
    boolean remove(String name) throws IOException;

    /**
     * Passes all pins to {@code visitor}, in the order of their names.
     *
     * @throws IOException if a pin cannot be read or is damaged
     */
    void read(Consumer<Pin> visitor) throws IOException;
}
