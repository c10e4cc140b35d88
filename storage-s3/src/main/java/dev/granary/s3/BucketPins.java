package dev.granary.s3;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.granary.cache.Id;
import dev.granary.cache.Sha256;
import dev.granary.s3.layout.BucketLayout;
import dev.granary.s3.store.GetResult;
import dev.granary.s3.store.HeadResult;
import dev.granary.s3.store.ListResult;
import dev.granary.s3.store.ObjectStore;
import dev.granary.s3.store.StoreFailure;
import dev.granary.s3.store.WriteResult;

import java.io.IOException;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.time.Instant;
import java.time.format.DateTimeParseException;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.Base64;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.function.Consumer;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.LongStream;

/**
 * Pins of a bucket: named lists of entries that no collection removes. The last line of a pin is
 * the hash of the others, since a damaged pin must not be read as a smaller one. Thread-safe.
 */
public final class BucketPins {
    /** The form of names. */
    public static final String NAME = "[a-z0-9_-][a-z0-9._-]{0,99}";

    /** The largest length of a pin, that of 1.5 million ids. */
    private static final int MAX_BYTES = 16 << 20;

    private static final int MAX_PINS = 10_000;
    private static final String FIRST = "granary pin 1";
    private static final String CREATED = "created ";
    private static final Pattern TARGET = Pattern.compile(BucketLayout.NAMESPACE + " (\\S*+)");

    private final String prefix;
    private final ObjectStore store;

    BucketPins(BucketLayout layout, ObjectStore store) {
        this.prefix = layout.pinPrefix();
        this.store = store;
    }

    /**
     * A pin.
     *
     * @param created when it was made, by the clock of its writer
     * @param ids by namespace, the first eight bytes of the hash of each id
     */
    public record Pin(String name, Instant created, SortedMap<String, long[]> ids) {
        /** Returns the number of ids. */
        public long entries() {
            return ids.values().stream().mapToLong(hashes -> hashes.length).sum();
        }
    }

    /**
     * Writes a pin of these ids, in place of an earlier one of the name.
     *
     * @return the failure; empty if the pin is there
     */
    public Optional<StoreFailure> write(String name, Collection<Id> ids) {
        if (!name.matches(NAME)) {
            throw new IllegalArgumentException("Not the name of a pin: " + name);
        }
        Map<String, List<Id>> byTarget = ids.stream()
                .collect(Collectors.groupingBy(
                        id -> id.target().path(), TreeMap::new, Collectors.toList()));
        StringBuilder lines = new StringBuilder(FIRST + "\n" + CREATED)
                .append(Instant.now().truncatedTo(ChronoUnit.SECONDS))
                .append('\n');
        byTarget.forEach((namespace, some) -> {
            long[] hashes = some.stream()
                    .mapToLong(id -> id.hash().prefix())
                    .sorted()
                    .distinct()
                    .toArray();
            ByteBuffer bytes = ByteBuffer.allocate(hashes.length * Long.BYTES);
            bytes.asLongBuffer().put(hashes);
            lines.append(namespace)
                    .append(' ')
                    .append(Base64.getEncoder().encodeToString(bytes.array()))
                    .append('\n');
        });
        byte[] body = (lines + lastLine(lines.toString())).getBytes(UTF_8);
        return body.length > MAX_BYTES
                ? Optional.of(StoreFailure.of(
                        StoreFailure.Kind.OBJECT_REFUSED, "a pin has at most 16 MiB"))
                : WriteResult.failureOf(store.put(prefix + name, body));
    }

    /**
     * Removes a pin, sound or not.
     *
     * @return false if there is none
     * @throws IOException if it is not known whether it was removed
     */
    public boolean remove(String name) throws IOException {
        if (store.head(prefix + name) instanceof HeadResult.Absent) {
            return false;
        }
        Optional<StoreFailure> failure = WriteResult.failureOf(store.delete(prefix + name));
        if (failure.isPresent()) {
            throw new IOException("pin " + name + " cannot be removed: " + failure.get());
        }
        return true;
    }

    /** Passes all pins to {@code visitor}, in the order of their names. */
    public void read(Consumer<Pin> visitor) throws IOException {
        read(0, visitor);
    }

    /**
     * As {@link #read}; only those that were written since then, by the server's clock.
     *
     * @throws IOException if a pin cannot be read or is damaged
     */
    void read(long sinceMillis, Consumer<Pin> visitor) throws IOException {
        List<String> names = new ArrayList<>();
        ListResult listed = store.list(prefix, object -> {
            String name = object.key().substring(prefix.length());
            if (name.matches(NAME)
                    && names.size() <= MAX_PINS
                    && (object.lastModifiedMillis() >= sinceMillis
                            || object.lastModifiedMillis() == 0)) {
                names.add(name);
            }
        });
        if (listed instanceof ListResult.Unavailable(StoreFailure failure)) {
            throw new IOException("pins cannot be listed: " + failure);
        }
        if (names.size() > MAX_PINS) {
            throw new IOException("there are more than " + MAX_PINS + " pins");
        }
        for (String name : names) {
            visitor.accept(read(name));
        }
    }

    private Pin read(String name) throws IOException {
        return switch (store.get(prefix + name, MAX_BYTES)) {
            case GetResult.Found found ->
                decode(name, found.bytes().toArray(ValueLayout.JAVA_BYTE));
            case GetResult.TooLarge _ -> throw damaged(name);
            case GetResult.Absent _ -> throw new IOException("pin " + name + " was just removed");
            case GetResult.Unavailable(StoreFailure failure) ->
                throw new IOException("pin " + name + " cannot be read: " + failure);
        };
    }

    /** Decodes an object with arbitrary content. */
    private static Pin decode(String name, byte[] bytes) throws IOException {
        String text = new String(bytes, UTF_8);
        String content = text.substring(0, text.stripTrailing().lastIndexOf('\n') + 1);
        List<String> lines = content.lines().toList();
        if (lines.size() < 2
                || !lines.getFirst().equals(FIRST)
                || !lines.get(1).startsWith(CREATED)
                || !text.equals(content + lastLine(content))) {
            throw damaged(name);
        }
        try {
            SortedMap<String, long[]> ids = new TreeMap<>();
            for (String line : lines.subList(2, lines.size())) {
                Matcher target = TARGET.matcher(line);
                if (!target.matches()) {
                    throw damaged(name);
                }
                byte[] hashes = Base64.getDecoder().decode(target.group(2));
                long[] prefixes = new long[hashes.length / Long.BYTES];
                ByteBuffer.wrap(hashes).asLongBuffer().get(prefixes);
                ids.put(target.group(1), LongStream.of(prefixes).sorted().toArray());
            }
            return new Pin(name, Instant.parse(lines.get(1).substring(CREATED.length())), ids);
        } catch (IllegalArgumentException | DateTimeParseException e) { // arbitrary content
            throw damaged(name);
        }
    }

    private static IOException damaged(String name) {
        return new IOException("pin " + name + " is damaged, or a newer version wrote it; populate"
                + " with --pin writes it again, collect --unpin removes it");
    }

    private static String lastLine(String lines) {
        return "sha256 " + Sha256.of(lines.getBytes(UTF_8)).hex() + "\n";
    }
}
