package dev.granary.s3;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.google.gson.JsonObject;
import com.google.gson.JsonParser;

import dev.granary.s3.layout.BucketLayout;
import dev.granary.s3.pack.warm.ParallelTasks;
import dev.granary.s3.store.GetResult;
import dev.granary.s3.store.ListResult;
import dev.granary.s3.store.ObjectStore;
import dev.granary.s3.store.StopListingException;
import dev.granary.s3.store.StoreFailure;
import dev.granary.s3.store.WriteResult;

import org.jspecify.annotations.Nullable;

import java.io.IOException;
import java.io.InterruptedIOException;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.time.LocalDate;
import java.time.YearMonth;
import java.time.format.DateTimeParseException;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.NavigableSet;
import java.util.Optional;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.ObjLongConsumer;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.LongStream;

/**
 * Notes of use in a bucket: one object for each machine and day, with the ids that it used and the
 * counters of the day. A read of an entry therefore costs no write. Anyone who may write a note can
 * lie in it, so its content decides nothing but how long entries are kept. Thread-safe.
 */
public final class UseNotes {
    /** The largest number of ids in a note. */
    public static final int MAX_IDS = 200_000;

    /** The largest length of a note, more than {@link #MAX_IDS} and the counters need. */
    static final int MAX_BYTES = 4 << 20;

    private static final int MAX_NAMES = 1_000;
    private static final long MAX_COUNT = 1_000_000_000_000_000L; // many of them have a sum
    private static final int FORMAT = 1;
    private static final int PARALLEL = 16;
    private static final Pattern NAME = Pattern.compile("(\\d{4}-\\d{2}-\\d{2})/([0-9a-f]{16})");
    private static final Pattern NAMESPACE = Pattern.compile(BucketLayout.NAMESPACE);
    private static final Pattern COUNTER = Pattern.compile("[a-z][a-z-]{0,63}");

    private final String prefix;
    private final ObjectStore reads;
    private final ObjectStore writes;
    private final int parallel;
    private final long maxNotes;

    /**
     * Creates the notes of a bucket.
     *
     * @param writes sends the notes: a refused note is no failure of the bucket
     */
    UseNotes(BucketLayout layout, ObjectStore reads, ObjectStore writes) {
        this(layout, reads, writes, PARALLEL);
    }

    /** Creates the notes of a bucket, of which {@link #days} reads no more than that number. */
    UseNotes(BucketLayout layout, ObjectStore store, long maxNotes) {
        this(layout, store, store, PARALLEL, maxNotes);
    }

    /** Creates the notes; with one request at a time all are sent by the calling thread. */
    UseNotes(BucketLayout layout, ObjectStore reads, ObjectStore writes, int parallel) {
        this(layout, reads, writes, parallel, Long.MAX_VALUE);
    }

    private UseNotes(
            BucketLayout layout,
            ObjectStore reads,
            ObjectStore writes,
            int parallel,
            long maxNotes) {
        this.prefix = layout.usePrefix();
        this.reads = reads;
        this.writes = writes;
        this.parallel = parallel;
        this.maxNotes = maxNotes;
    }

    /**
     * The note of a machine for a day.
     *
     * @param day the day by the clock of the machine, in UTC
     * @param machine its random name, 16 hexadecimal digits
     * @param ids by namespace, the first eight bytes of the hash of each id that was used, as
     *     {@link dev.granary.cache.Sha256#prefix} returns them; ascending, each once
     * @param counters the counters of the day, by their labels
     */
    public record UseNote(
            LocalDate day,
            String machine,
            SortedMap<String, long[]> ids,
            Map<String, Long> counters) {
        /** Returns the note in one line of JSON, without its name. */
        public String json() {
            JsonObject counted = new JsonObject();
            counters.forEach(counted::addProperty);
            JsonObject used = new JsonObject();
            ids.forEach((namespace, hashes) -> {
                ByteBuffer bytes = ByteBuffer.allocate(hashes.length * Long.BYTES);
                bytes.asLongBuffer().put(hashes);
                used.addProperty(namespace, Base64.getEncoder().encodeToString(bytes.array()));
            });
            JsonObject json = new JsonObject();
            json.addProperty("format", FORMAT);
            json.add("counters", counted);
            json.add("ids", used);
            return json.toString();
        }

        /** Returns the hashes of two notes, ascending and each once. */
        public static long[] union(long[] one, long[] other) {
            return LongStream.concat(LongStream.of(one), LongStream.of(other))
                    .sorted()
                    .distinct()
                    .toArray();
        }

        /** Parses any text; empty if it is no note. */
        public static Optional<UseNote> parse(LocalDate day, String machine, String text) {
            try {
                JsonObject json = JsonParser.parseString(text).getAsJsonObject();
                Map<String, Long> counters = new TreeMap<>();
                json.getAsJsonObject("counters").asMap().forEach((counter, value) -> {
                    long count = value.getAsLong();
                    require(COUNTER.matcher(counter).matches() && count >= 0 && count <= MAX_COUNT);
                    counters.put(counter, count);
                });
                SortedMap<String, long[]> ids = new TreeMap<>();
                json.getAsJsonObject("ids").asMap().forEach((namespace, hashes) -> {
                    require(NAMESPACE.matcher(namespace).matches());
                    ids.put(namespace, hashes(hashes.getAsString()));
                });
                require(json.get("format").getAsInt() == FORMAT
                        && counters.size() <= MAX_NAMES
                        && ids.size() <= MAX_NAMES);
                return Optional.of(new UseNote(day, machine, ids, counters));
            } catch (RuntimeException e) { // arbitrary content
                return Optional.empty();
            }
        }
    }

    /** The name of a note. */
    private record Name(LocalDate day, String machine) {
        @Override
        public String toString() {
            return day + "/" + machine;
        }

        /** Parses a name as {@link #toString} returns it; empty for any other text. */
        static Optional<Name> parse(String text) {
            Matcher name = NAME.matcher(text);
            try {
                return name.matches()
                        ? Optional.of(new Name(LocalDate.parse(name.group(1)), name.group(2)))
                        : Optional.empty();
            } catch (DateTimeParseException e) { // such as the 30th of February
                return Optional.empty();
            }
        }
    }

    /** Writes a note, in place of an earlier one of the machine and day. Does not retry. */
    public WriteResult write(UseNote note) {
        return writes.put(
                prefix + new Name(note.day(), note.machine()), note.json().getBytes(UTF_8));
    }

    /**
     * Passes all notes of these days to {@code visitor}, one at a time, in no order.
     *
     * @param to the last day; tomorrow rather than today, since the clock of a machine may be ahead
     * @return the number of objects of these months that are no notes, which are ignored
     * @throws IOException if the notes cannot be listed, or one cannot be read
     */
    public long read(LocalDate from, LocalDate to, Consumer<UseNote> visitor) throws IOException {
        return read(from, to, 0, visitor);
    }

    /** As {@link #read}; only notes that were written since then, by the server's clock. */
    long read(LocalDate from, LocalDate to, long sinceMillis, Consumer<UseNote> visitor)
            throws IOException {
        AtomicLong ignored = new AtomicLong();
        for (YearMonth month = YearMonth.from(from);
                !month.isAfter(YearMonth.from(to));
                month = month.plusMonths(1)) {
            List<Name> names = new ArrayList<>();
            list(
                    prefix + month,
                    (name, writtenMillis) -> {
                        if (!name.day().isBefore(from)
                                && !name.day().isAfter(to)
                                && (writtenMillis >= sinceMillis || writtenMillis == 0)) {
                            names.add(name);
                        }
                    },
                    ignored);
            forEach(names, name -> read(name, visitor, ignored));
        }
        return ignored.get();
    }

    /**
     * Deletes the notes of days before {@code day}. Other objects stay.
     *
     * @return the number of deleted notes
     * @throws IOException if the notes cannot be listed, or one cannot be deleted
     */
    public long forget(LocalDate day) throws IOException {
        List<Name> old = new ArrayList<>();
        list(
                prefix,
                (name, _) -> {
                    if (name.day().isBefore(day)) {
                        old.add(name);
                    }
                },
                new AtomicLong());
        forEach(old, name -> WriteResult.failureOf(writes.delete(prefix + name)));
        return old.size();
    }

    /**
     * Returns the days of which there are notes.
     *
     * @throws IOException if they cannot be listed, or there are more than may be read
     */
    NavigableSet<LocalDate> days() throws IOException {
        NavigableSet<LocalDate> days = new TreeSet<>();
        AtomicLong notes = new AtomicLong();
        try {
            list(
                    prefix,
                    (name, _) -> {
                        if (notes.incrementAndGet() > maxNotes) {
                            throw new StopListingException();
                        }
                        days.add(name.day());
                    },
                    new AtomicLong());
        } catch (StopListingException e) {
            throw new IOException("There are more than " + maxNotes + " notes of use");
        }
        return days;
    }

    private void list(String keys, ObjLongConsumer<Name> visitor, AtomicLong others)
            throws IOException {
        ListResult result =
                reads.list(keys, object -> Name.parse(object.key().substring(prefix.length()))
                        .ifPresentOrElse(
                                name -> visitor.accept(name, object.lastModifiedMillis()),
                                others::incrementAndGet));
        if (result instanceof ListResult.Unavailable(StoreFailure failure)) {
            throw new IOException("The notes of use cannot be listed: " + failure);
        }
    }

    private Optional<StoreFailure> read(Name name, Consumer<UseNote> visitor, AtomicLong ignored) {
        return switch (reads.get(prefix + name, MAX_BYTES)) {
            case GetResult.Found found -> {
                String text = new String(found.bytes().toArray(ValueLayout.JAVA_BYTE), UTF_8);
                UseNote.parse(name.day(), name.machine(), text)
                        .ifPresentOrElse(
                                note -> {
                                    synchronized (ignored) { // one of this call
                                        visitor.accept(note);
                                    }
                                },
                                ignored::incrementAndGet);
                yield Optional.empty();
            }
            case GetResult.TooLarge _ -> {
                ignored.incrementAndGet();
                yield Optional.empty();
            }
            case GetResult.Absent _ -> Optional.empty(); // deleted meanwhile
            case GetResult.Unavailable(StoreFailure failure) -> Optional.of(failure);
        };
    }

    private void forEach(List<Name> names, Function<Name, Optional<StoreFailure>> request)
            throws IOException {
        AtomicReference<@Nullable String> failure = new AtomicReference<>();
        Consumer<Name> task = name -> {
            if (failure.get() == null) { // else the rest would fail as well
                request.apply(name).ifPresent(cause -> failure.set("note " + name + ": " + cause));
            }
        };
        try {
            if (parallel == 1) {
                names.forEach(task);
            } else {
                ParallelTasks.run(parallel, names, () -> task);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new InterruptedIOException("interrupted");
        }
        if (failure.get() != null) {
            throw new IOException(failure.get());
        }
    }

    private static long[] hashes(String base64) {
        byte[] bytes = Base64.getDecoder().decode(base64);
        require(bytes.length % Long.BYTES == 0);
        long[] hashes = new long[bytes.length / Long.BYTES];
        ByteBuffer.wrap(bytes).asLongBuffer().get(hashes);
        return UseNote.union(hashes, new long[0]);
    }

    private static void require(boolean isSound) {
        if (!isSound) {
            throw new IllegalArgumentException("Not a note");
        }
    }
}
