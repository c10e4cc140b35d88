package dev.granary.s3;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.granary.cache.Id;
import dev.granary.cache.Sha256;
import dev.granary.s3.UseNotes.UseNote;
import dev.granary.s3.layout.BucketLayout;
import dev.granary.s3.store.GetResult;
import dev.granary.s3.store.HeadResult;
import dev.granary.s3.store.ListResult;
import dev.granary.s3.store.ObjectStore;
import dev.granary.s3.store.StoreFailure;
import dev.granary.s3.store.WriteResult;

import java.io.IOException;
import java.lang.foreign.ValueLayout;
import java.time.LocalDate;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.function.Consumer;
import java.util.stream.Collectors;

/**
 * Pins of a bucket: named lists of entries that no collection removes. A pin is a note of use
 * behind its hash, since a damaged pin must not be read as a smaller one. Thread-safe.
 */
public final class BucketPins {
    /** The form of names. */
    public static final String NAME = "[a-z0-9_-][a-z0-9._-]{0,99}";

    /** The largest length of a pin, that of 1.5 million ids. */
    private static final int MAX_BYTES = 16 << 20;

    private static final int MAX_PINS = 10_000;

    private final String prefix;
    private final ObjectStore store;

    BucketPins(BucketLayout layout, ObjectStore store) {
        this.prefix = layout.pinPrefix();
        this.store = store;
    }

    /**
     * A pin.
     *
     * @param writtenMillis when it was written, by the server's clock, in milliseconds since 1970
     * @param ids by namespace, the first eight bytes of the hash of each id
     */
    public record Pin(String name, long writtenMillis, SortedMap<String, long[]> ids) {
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
        SortedMap<String, long[]> hashes = ids.stream()
                .collect(Collectors.groupingBy(
                        id -> id.target().path(),
                        TreeMap::new,
                        Collectors.collectingAndThen(Collectors.toList(), BucketPins::hashes)));
        String note = new UseNote(LocalDate.EPOCH, name, hashes, Map.of()).json();
        byte[] body = (hash(note) + "\n" + note).getBytes(UTF_8);
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
        List<ObjectStore.Listed> pins = new ArrayList<>();
        ListResult listed = store.list(prefix, object -> {
            if (name(object).matches(NAME)
                    && pins.size() <= MAX_PINS
                    && (object.lastModifiedMillis() >= sinceMillis
                            || object.lastModifiedMillis() == 0)) {
                pins.add(object);
            }
        });
        if (listed instanceof ListResult.Unavailable(StoreFailure failure)) {
            throw new IOException("pins cannot be listed: " + failure);
        }
        if (pins.size() > MAX_PINS) {
            throw new IOException("there are more than " + MAX_PINS + " pins");
        }
        for (ObjectStore.Listed pin : pins) {
            visitor.accept(new Pin(name(pin), pin.lastModifiedMillis(), ids(name(pin))));
        }
    }

    private String name(ObjectStore.Listed pin) {
        return pin.key().substring(prefix.length());
    }

    private SortedMap<String, long[]> ids(String name) throws IOException {
        return switch (store.get(prefix + name, MAX_BYTES)) {
            case GetResult.Found found -> {
                String text = new String(found.bytes().toArray(ValueLayout.JAVA_BYTE), UTF_8);
                String[] lines = text.split("\n", 2); // arbitrary content
                if (lines.length < 2 || !lines[0].equals(hash(lines[1]))) {
                    throw damaged(name);
                }
                yield UseNote.parse(LocalDate.EPOCH, name, lines[1])
                        .orElseThrow(() -> damaged(name))
                        .ids();
            }
            case GetResult.TooLarge _ -> throw damaged(name);
            case GetResult.Absent _ -> throw new IOException("pin " + name + " was just removed");
            case GetResult.Unavailable(StoreFailure failure) ->
                throw new IOException("pin " + name + " cannot be read: " + failure);
        };
    }

    private static IOException damaged(String name) {
        return new IOException("pin " + name + " is damaged, or a newer version wrote it; populate"
                + " with --pin writes it again, collect --unpin removes it");
    }

    private static long[] hashes(List<Id> ids) {
        return ids.stream()
                .mapToLong(id -> id.hash().prefix())
                .sorted()
                .distinct()
                .toArray();
    }

    private static String hash(String note) {
        return Sha256.of(note.getBytes(UTF_8)).hex();
    }
}
