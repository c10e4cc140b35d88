package dev.granary.s3;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;

import static java.nio.charset.StandardCharsets.UTF_8;
import static java.util.Objects.requireNonNull;

import dev.granary.cache.contract.TestEntries;
import dev.granary.s3.UseNotes.UseNote;
import dev.granary.s3.config.S3Access;
import dev.granary.s3.config.S3Config;
import dev.granary.s3.contract.Fault;
import dev.granary.s3.contract.FaultPlan;
import dev.granary.s3.contract.MemoryObjectStore;
import dev.granary.s3.store.WriteResult;
import dev.granary.testing.TestSeed;
import dev.granary.testing.TestTicker;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.io.IOException;
import java.time.LocalDate;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.LongStream;

/** Tests of the notes of use in a bucket. */
class UseNotesTest {
    private static final LocalDate DAY = LocalDate.parse("2026-11-28");
    private static final LocalDate LAST = LocalDate.parse("2027-02-01");
    private static final String MACHINE = "00000000000000aa";
    private static final String TARGET = TestEntries.TARGET.path();
    private static final String KEY = "team/use/2026-11-28/" + MACHINE;
    private static final String EMPTY = "{\"format\":1,\"counters\":{},\"ids\":{}}";

    private final MemoryObjectStore store = new MemoryObjectStore();
    private final BucketTier tier = new BucketTier(
            S3Config.builder("bucket").prefix("team").access(S3Access.READ).build(),
            _ -> store,
            new TestTicker(),
            TestSeed.random("UseNotesTest"));
    private final UseNotes notes = tier.useNotes();

    private static UseNote note(LocalDate day, long machine, long... hashes) {
        return new UseNote(
                day,
                HexFormat.of().toHexDigits(machine),
                new TreeMap<>(Map.of(TARGET, hashes)),
                Map.of("local-hits", 3L));
    }

    private List<UseNote> read(LocalDate from, long ignored) throws IOException {
        List<UseNote> read = new ArrayList<>();
        assertEquals(ignored, notes.read(from, LAST, read::add));
        read.sort(Comparator.comparing(UseNote::day).thenComparing(UseNote::machine));
        return read;
    }

    @Test
    @DisplayName("a note is read as it was written, also by access=read, and the second note of a"
            + " day replaces the first")
    void roundTrip() throws Exception {
        notes.write(note(DAY, 0xaa, 1));
        assertInstanceOf(
                WriteResult.Done.class,
                notes.write(note(DAY, 0xaa, Long.MIN_VALUE, -1, 0, Long.MAX_VALUE)));
        assertEquals(List.of(KEY), store.keys());
        UseNote read = read(DAY, 0).getFirst();
        assertEquals(DAY, read.day());
        assertEquals(MACHINE, read.machine());
        assertEquals(Map.of("local-hits", 3L), read.counters());
        assertArrayEquals(
                new long[] {Long.MIN_VALUE, -1, 0, Long.MAX_VALUE}, read.ids().get(TARGET));
        assertEquals(
                "{\"format\":1,\"counters\":{\"local-hits\":3},\"ids\":{\"" + TARGET
                        + "\":\"gAAAAAAAAAD//////////wAAAAAAAAAAf/////////8=\"}}",
                new String(store.body(KEY), UTF_8));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                "[]",
                "<html>",
                "{\"format\":2,\"counters\":{},\"ids\":{}}",
                "{\"format\":1,\"ids\":{}}",
                "{\"format\":1,\"counters\":{\"a\":-1},\"ids\":{}}",
                "{\"format\":1,\"counters\":{\"<b>\":1},\"ids\":{}}",
                "{\"format\":1,\"counters\":{},\"ids\":{\"opencl/../x\":\"\"}}",
                "{\"format\":1,\"counters\":{},\"ids\":{\"opencl/x\":\"AAAA\"}}",
                "{\"format\":1,\"counters\":{},\"ids\":{\"opencl/x\":\"%\"}}",
                "{\"format\":1,\"counters\":{},\"ids\":{\"opencl/x\":[[]]}}"
            })
    @DisplayName("an object with another content is ignored and counted, and hides no other note")
    void damaged(String content) throws Exception {
        store.place(KEY, content.getBytes(UTF_8));
        notes.write(note(DAY, 0xbb, 1));
        assertEquals("00000000000000bb", read(DAY, 1).getFirst().machine());
    }

    @Test
    @DisplayName("hashes of a foreign writer are sorted, and each counts once")
    void unsorted() throws Exception {
        store.place(
                KEY,
                EMPTY.replace(
                                "\"ids\":{}",
                                "\"ids\":{\"opencl/x\":\"AAAAAAAAAAIAAAAAAAAAAQAAAAAA" + "AAAC\"}")
                        .getBytes(UTF_8));
        assertArrayEquals(new long[] {1, 2}, read(DAY, 0).getFirst().ids().get("opencl/x"));
    }

    @Test
    @DisplayName("a note has room for the largest number of ids; a longer object is ignored")
    void size() throws Exception {
        notes.write(note(DAY, 0xaa, LongStream.range(0, UseNotes.MAX_IDS).toArray()));
        long[] ids = requireNonNull(read(DAY, 0).getFirst().ids().get(TARGET));
        assertEquals(UseNotes.MAX_IDS, ids.length);
        store.place(KEY, (EMPTY + " ".repeat(UseNotes.MAX_BYTES)).getBytes(UTF_8));
        assertEquals(List.of(), read(DAY, 1));
    }

    @Test
    @DisplayName("objects with foreign names are ignored and counted")
    void foreign() throws Exception {
        for (String name : List.of(
                "2026-11-28/AA000000000000aa",
                "2026-11-28/00000000000000aa/x",
                "2026-11-31/00000000000000aa",
                "2026-12-1",
                "2026-12/x")) {
            store.place("team/use/" + name, EMPTY.getBytes(UTF_8));
        }
        assertEquals(List.of(), read(DAY, 5));
        assertEquals(0, notes.forget(LAST));
        assertEquals(5, store.keys().size());
    }

    @Test
    @DisplayName("only notes of the asked days are read, by one listing for each month")
    void days() throws Exception {
        for (String day :
                List.of("2025-12-01", "2026-11-27", "2026-11-28", "2026-12-31", "2027-02-02")) {
            notes.write(note(LocalDate.parse(day), 0xaa, 1));
        }
        store.forgetRequests();
        assertEquals(
                List.of("2026-11-28", "2026-12-31"),
                read(DAY, 0).stream().map(note -> note.day().toString()).toList());
        assertEquals(
                List.of("LIST", "GET", "LIST", "GET", "LIST", "LIST"),
                store.requests().stream().map(each -> each.split(" ")[0]).toList());
    }

    @Test
    @DisplayName("300 notes are read by several threads, each once and one at a time")
    void parallel() throws Exception {
        for (int i = 0; i < 300; i++) {
            notes.write(note(DAY.plusDays(i % 3), i, i));
        }
        assertEquals(
                LongStream.range(0, 300).boxed().toList(),
                read(DAY, 0).stream()
                        .map(note -> requireNonNull(note.ids().get(TARGET))[0])
                        .sorted()
                        .toList());
    }

    @Test
    @DisplayName("a listing that fails, and a note that cannot be read, are failures, since a note"
            + " that is not seen is not an unused entry")
    void unavailable() {
        notes.write(note(DAY, 0xaa, 1));
        for (String failing : List.of("LIST", "GET")) {
            store.plan(FaultPlan.when(
                    request -> request.operation().equals(failing),
                    new Fault.Lost(Fault.ERROR_500)));
            assertThrows(IOException.class, () -> read(DAY, 0), failing);
        }
    }

    @Test
    @DisplayName("notes of earlier days are deleted, and no others")
    void forget() throws Exception {
        notes.write(note(DAY.minusDays(400), 0xaa, 1));
        notes.write(note(DAY.minusDays(1), 0xaa, 1));
        notes.write(note(DAY, 0xaa, 1));
        assertEquals(2, notes.forget(DAY));
        assertEquals(List.of(KEY), store.keys());
        store.plan(FaultPlan.always(new Fault.Lost(Fault.DENIED)));
        assertThrows(IOException.class, () -> notes.forget(LAST));
    }

    @Test
    @DisplayName("refused and lost notes leave the circuit breaker closed")
    void noBreaker() {
        for (Fault fault : List.of(
                new Fault.Lost(Fault.DENIED),
                new Fault.Lost(Fault.ERROR_500),
                new Fault.Lost(Fault.TIMEOUT))) {
            store.plan(FaultPlan.always(fault));
            for (int i = 0; i < 20; i++) {
                notes.write(note(DAY, 0xaa, 1));
            }
        }
        store.plan(FaultPlan.SOUND);
        assertEquals(0, tier.statistics().breakerOpenings());
        assertEquals(60, store.requests().size());
    }
}
