package dev.granary.coordinator.machine;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.granary.cache.Sha256;
import dev.granary.coordinator.statistics.Counter;
import dev.granary.s3.UseNotes;
import dev.granary.s3.UseNotes.UseNote;

import java.io.BufferedReader;
import java.io.IOException;
import java.nio.charset.CharacterCodingException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.security.SecureRandom;
import java.time.Duration;
import java.time.LocalDate;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.regex.Pattern;

/**
 * The note of use of one layer as this machine has it: the note of the day, with what is not sent
 * yet, and the time of the last attempt. Each layer has a machine number of its own, so that the
 * owners of two buckets cannot tell that it is the same machine.
 *
 * @param day the day of the note, in UTC
 * @param triedMillis the time of the last attempt to send it, in milliseconds since 1970
 * @param pauseMillis the time after that attempt until the next one
 * @param isPending whether there are ids that were not sent
 * @param ids as in {@link UseNote}
 * @param base the totals of the counters at the beginning of the note
 * @param sent the totals when a note was sent last: the beginning of the next day's
 */
record UseState(
        String machine,
        LocalDate day,
        long triedMillis,
        long pauseMillis,
        boolean isPending,
        SortedMap<String, long[]> ids,
        Map<String, Long> base,
        Map<String, Long> sent) {
    /** The time between two notes of a machine. */
    private static final Duration PAUSE = Duration.ofHours(1);

    /** The pause after the bucket has refused a note: its policy seldom changes. */
    private static final Duration REFUSED_PAUSE = Duration.ofDays(1);

    /** The most that is appended to a state, in bytes: 1 MiB. */
    private static final int MAX_MORE_BYTES = 1 << 20;

    private static final int NAME_DIGITS = 16;
    private static final Pattern MACHINE = Pattern.compile("[0-9a-f]{16}");

    /** Creates the state of a machine that has sent no note; its counters begin at {@code base}. */
    static UseState first(LocalDate day, Map<String, Long> base) {
        String machine = HexFormat.of().toHexDigits(new SecureRandom().nextLong());
        return new UseState(machine, day, 0, 0, false, new TreeMap<>(), base, base);
    }

    /** Returns this state on that day: a new note has what the last one lacked. */
    UseState on(LocalDate today) {
        return day.equals(today)
                ? this
                : new UseState(
                        machine,
                        today,
                        triedMillis,
                        pauseMillis,
                        isPending,
                        isPending ? ids : new TreeMap<>(),
                        sent,
                        sent);
    }

    /**
     * Returns this state with more ids, as far as a note has room for them; the same if the bucket
     * refuses notes.
     */
    UseState with(Map<String, long[]> used) {
        SortedMap<String, long[]> all = new TreeMap<>(ids);
        used.forEach((namespace, hashes) -> all.put(
                namespace, UseNote.union(hashes, ids.getOrDefault(namespace, new long[0]))));
        if (isRefused() || count(all) == count(ids) || count(all) > UseNotes.MAX_IDS) {
            return this;
        }
        return new UseState(machine, day, triedMillis, pauseMillis, true, all, base, sent);
    }

    private static int count(Map<String, long[]> ids) {
        return ids.values().stream().mapToInt(hashes -> hashes.length).sum();
    }

    /**
     * Returns true if a note may be sent. A clock that was set back prevents it for two pauses at
     * most; an attempt may also be later than this time because another process was faster.
     */
    boolean isDue(long nowMillis) {
        return Math.abs(nowMillis - triedMillis) >= pauseMillis;
    }

    /** Returns this state after the beginning of an attempt, so that no process makes another. */
    UseState tried(long nowMillis) {
        return new UseState(machine, day, nowMillis, PAUSE.toMillis(), isPending, ids, base, sent);
    }

    /** Returns this state after {@code note} was sent, with those totals. */
    UseState sent(UseNote note, Map<String, Long> totals) {
        return new UseState(
                machine,
                day,
                triedMillis,
                pauseMillis,
                count(ids) > count(note.ids()),
                ids,
                base,
                totals);
    }

    /** Returns this state after the bucket has refused a note: nothing is collected for it. */
    UseState refused() {
        return new UseState(
                machine,
                day,
                triedMillis,
                REFUSED_PAUSE.toMillis(),
                false,
                new TreeMap<>(),
                base,
                sent);
    }

    private boolean isRefused() {
        return pauseMillis > PAUSE.toMillis();
    }

    /** Returns the note to send. Totals below those of its beginning were set to 0 meanwhile. */
    UseNote note(Map<String, Long> totals) {
        Map<String, Long> counted = new TreeMap<>();
        for (Counter counter : Counter.values()) {
            long now = totals.getOrDefault(counter.label(), 0L);
            long before = base.getOrDefault(counter.label(), 0L);
            long count = now < before ? now : now - before;
            if (count > 0) {
                counted.put(counter.label(), count);
            }
        }
        return new UseNote(day, machine, ids, counted);
    }

    /** Returns the name of the file for a layer. */
    static String fileName(String layer) {
        return Sha256.of(layer.getBytes(UTF_8)).hex().substring(0, NAME_DIGITS);
    }

    /**
     * Appends ids to the state of a file that need not be sent now, without reading what it has:
     * each process does it when it ends.
     *
     * @return false if there is no such state: a note is due, or there is too much to be merged
     */
    static boolean append(Path file, Map<String, long[]> used, boolean maySend, long nowMillis)
            throws IOException {
        Path more = more(file);
        if (Files.notExists(file) || (Files.exists(more) && Files.size(more) > MAX_MORE_BYTES)) {
            return false;
        }
        try (BufferedReader lines = Files.newBufferedReader(file)) {
            UseState state = ofHeader(Objects.requireNonNullElse(lines.readLine(), ""));
            if (maySend && state.isDue(nowMillis)) {
                return false;
            }
            if (!state.isRefused() && !used.isEmpty()) {
                String line =
                        new UseNote(state.day, state.machine, new TreeMap<>(used), Map.of()).json()
                                + "\n";
                Files.writeString(more, line, StandardOpenOption.CREATE, StandardOpenOption.APPEND);
            }
            return true;
        } catch (RuntimeException | CharacterCodingException e) { // any content
            return false;
        }
    }

    private static Path more(Path file) {
        return file.resolveSibling(file.getFileName() + ".more");
    }

    /** Reads a state; empty if there is none, or it is damaged. */
    static Optional<UseState> read(Path file) throws IOException {
        if (Files.notExists(file)) {
            return Optional.empty();
        }
        try {
            List<String> lines = Files.readAllLines(file);
            UseState state = ofHeader(lines.get(0));
            UseNote note = UseNote.parse(state.day, state.machine, lines.get(1)).orElseThrow();
            UseNote last = UseNote.parse(state.day, state.machine, lines.get(2)).orElseThrow();
            state = new UseState(
                    state.machine,
                    state.day,
                    state.triedMillis,
                    state.pauseMillis,
                    state.isPending,
                    note.ids(),
                    note.counters(),
                    last.counters());
            if (Files.exists(more(file))) {
                for (String line : Files.readAllLines(more(file))) {
                    Optional<UseNote> more = UseNote.parse(state.day, state.machine, line);
                    state = more.isPresent() ? state.with(more.get().ids()) : state;
                }
            }
            return Optional.of(state);
        } catch (RuntimeException | CharacterCodingException e) { // any content
            return Optional.empty();
        }
    }

    private static UseState ofHeader(String line) {
        String[] words = line.split(" ");
        if (!MACHINE.matcher(words[0]).matches()) {
            throw new IllegalArgumentException("Not a state");
        }
        return new UseState(
                words[0],
                LocalDate.parse(words[1]),
                Long.parseLong(words[2]),
                Long.parseLong(words[3]),
                Boolean.parseBoolean(words[4]),
                new TreeMap<>(),
                Map.of(),
                Map.of());
    }

    /** Writes this state, which has what was appended to the last one. */
    void write(Path file) throws IOException {
        Path temporary = file.resolveSibling(file.getFileName() + ".part");
        Files.write(
                temporary,
                List.of(
                        String.join(
                                " ",
                                machine,
                                day.toString(),
                                Long.toString(triedMillis),
                                Long.toString(pauseMillis),
                                Boolean.toString(isPending)),
                        new UseNote(day, machine, ids, base).json(),
                        new UseNote(day, machine, new TreeMap<>(), sent).json()));
        Files.move(temporary, file, StandardCopyOption.ATOMIC_MOVE);
        Files.deleteIfExists(more(file));
    }
}
