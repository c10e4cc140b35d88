package dev.granary.coordinator.machine;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.cache.Deadline;
import dev.granary.cache.Id;
import dev.granary.cache.PersistentCache;
import dev.granary.coordinator.FakeDescriptor;
import dev.granary.coordinator.config.GranaryConfig;
import dev.granary.coordinator.observe.Counters;
import dev.granary.coordinator.observe.EventDispatcher;
import dev.granary.coordinator.statistics.Counter;
import dev.granary.coordinator.statistics.GranaryStatistics;
import dev.granary.coordinator.tier.Tiers;
import dev.granary.s3.BucketTier;
import dev.granary.s3.UseNotes.UseNote;
import dev.granary.s3.config.S3Access;
import dev.granary.s3.config.S3Config;
import dev.granary.s3.config.S3ConfigBuilder;
import dev.granary.s3.contract.Fault;
import dev.granary.s3.contract.FaultPlan;
import dev.granary.s3.contract.MemoryObjectStore;
import dev.granary.s3.store.ConnectionOption;
import dev.granary.testing.TestSeed;
import dev.granary.testing.TestTicker;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDate;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import java.util.stream.Stream;

/** Tests of the ids that a machine uses, and of its notes in the buckets. */
class UseLogTest {
    private static final Duration HOUR = Duration.ofHours(1);
    private static final Duration LIMIT = Duration.ofSeconds(30);

    private final Path directory;
    private final MemoryObjectStore store = new MemoryObjectStore() {
        @Override
        public void prepare() {
            if (!hasCredentials) {
                throw new IllegalStateException("no credentials");
            }
        }
    };
    private boolean hasCredentials = true;
    private Instant now = Instant.parse("2026-11-28T20:00:00Z");

    UseLogTest(@TempDir Path directory) {
        this.directory = directory;
    }

    /** A process of the machine. */
    private final class Running implements AutoCloseable {
        final Counters counters = new Counters();
        final BucketTier bucket;
        private final EventDispatcher events = new EventDispatcher(List.of(), counters);
        private final Tiers tiers;
        private final Machine machine;
        final UseLog log;

        Running(String capacity, S3ConfigBuilder settings) throws Exception {
            bucket = new BucketTier(
                    settings.build(), _ -> store, new TestTicker(), TestSeed.random("UseLogTest"));
            GranaryConfig config = GranaryConfig.builder()
                    .environment(Map.of("XDG_CONFIG_HOME", directory + "-none"))
                    .directory(directory)
                    .capacity(capacity)
                    .bucket("s3://kernels")
                    .build();
            PersistentCache opened = bucket;
            tiers = Tiers.open(
                    config,
                    new Tiers.Sources(
                            Optional.empty(), List.of(), List.of(), _ -> opened, () -> now),
                    events);
            machine = Machine.open(config, Optional.empty(), false, () -> now);
            log = new UseLog(machine, tiers.layers(), this::statistics, () -> now);
        }

        GranaryStatistics statistics() {
            return new GranaryStatistics(List.of(), counters.snapshot());
        }

        Running use(String... kernels) {
            Stream.of(kernels).forEach(kernel -> log.add(id(kernel)));
            counters.add(Counter.LOCAL_HITS, kernels.length);
            return this;
        }

        /** Does what a process does every few hours. */
        Running report() {
            log.report(UseLog.Sending.WHEN_DUE, Deadline.NONE).join();
            return this;
        }

        @Override
        public void close() {
            log.finish(true);
            closeTiers();
        }

        void closeTiers() {
            tiers.close();
            machine.close();
            events.close(LIMIT);
        }
    }

    private static Id id(String kernel) {
        return FakeDescriptor.of(kernel).getId();
    }

    private static S3ConfigBuilder settings() {
        return S3Config.builder("kernels").credentials("key", "secret");
    }

    private Running process() throws Exception {
        return new Running("1GiB", settings());
    }

    private void run(String... kernels) throws Exception {
        try (Running process = process()) {
            process.use(kernels);
        }
    }

    private List<UseNote> notes() throws Exception {
        List<UseNote> notes = new ArrayList<>();
        try (BucketTier reader = new BucketTier(
                settings().build(), _ -> store, new TestTicker(), TestSeed.random("reader"))) {
            reader.useNotes()
                    .read(LocalDate.parse("2020-01-01"), LocalDate.parse("2031-01-01"), notes::add);
        }
        notes.sort(Comparator.comparing(UseNote::day).thenComparing(UseNote::machine));
        return notes;
    }

    private UseNote note() throws Exception {
        assertEquals(1, notes().size());
        return notes().getFirst();
    }

    private static void assertIds(UseNote note, String... kernels) {
        assertEquals(
                Stream.of(kernels)
                        .map(each -> id(each).hash().prefix())
                        .sorted()
                        .toList(),
                note.ids().values().stream()
                        .flatMapToLong(LongStream::of)
                        .boxed()
                        .toList());
    }

    private long puts() {
        return store.requests().stream().filter(each -> each.startsWith("PUT")).count();
    }

    @Test
    @DisplayName("a bucket that is read by unsigned requests gets no note")
    void unsigned() throws Exception {
        S3ConfigBuilder unsigned = settings().options(Map.of(ConnectionOption.CREDENTIALS, "none"));
        try (Running process = new Running("1GiB", unsigned)) {
            process.use("a", "b").report();
        }
        assertEquals(List.of(), store.requests());
    }

    @Test
    @DisplayName("the first process of a machine writes a note of the day when it ends, with its"
            + " ids and counters, also where access=read")
    void first() throws Exception {
        try (Running process = new Running("1GiB", settings().access(S3Access.READ))) {
            process.use("a", "b").counters.add(Counter.SAVED_TIME, 5_000_000_000L);
        }
        UseNote note = note();
        assertEquals(LocalDate.parse("2026-11-28"), note.day());
        assertIds(note, "a", "b");
        assertEquals(Map.of("local-hits", 2L, "saved-millis", 5000L), note.counters());
    }

    @Test
    @DisplayName("processes within the hour keep their ids for the next note, which has all of the"
            + " day and replaces the last one")
    void hourly() throws Exception {
        run("a");
        now = now.plus(HOUR.minusSeconds(1));
        run("b");
        assertIds(note(), "a");
        assertEquals(1, puts());
        now = now.plusSeconds(1);
        run("c");
        assertIds(note(), "a", "b", "c");
        assertEquals(3, note().counters().get("local-hits"));
        assertEquals(2, puts());
    }

    @Test
    @DisplayName("a new day has a note of its own, with what the last note of the day before"
            + " lacked, and its counters")
    void nextDay() throws Exception {
        run("a", "b");
        now = now.plusSeconds(60);
        run("c");
        now = now.plus(Duration.ofHours(12));
        run("d");
        List<UseNote> notes = notes();
        assertEquals(2, notes.size());
        assertIds(notes.get(0), "a", "b");
        assertIds(notes.get(1), "a", "b", "c", "d"); // c was not sent, so nothing is left out
        assertEquals(
                List.of(2L, 2L),
                notes.stream().map(each -> each.counters().get("local-hits")).toList());
        assertEquals(notes.get(0).machine(), notes.get(1).machine());
        now = now.plus(Duration.ofDays(1));
        run("e");
        assertIds(notes().get(2), "e");
    }

    @Test
    @DisplayName("a process that runs for days notes its ids each day, since hits in memory leave"
            + " no trace, and its counters once")
    void longRunning() throws Exception {
        try (Running process = process()) {
            process.use("a").report();
            for (int day = 0; day < 2; day++) {
                now = now.plus(Duration.ofDays(1));
                process.counters.add(Counter.PROGRAM_HITS, 7);
                process.report();
            }
        }
        assertEquals(
                List.of(
                        Map.of("local-hits", 1L),
                        Map.of("program-hits", 7L),
                        Map.of("program-hits", 7L)),
                notes().stream().map(UseNote::counters).toList());
        for (UseNote note : notes()) {
            assertIds(note, "a");
        }
    }

    @Test
    @DisplayName("a process that used nothing, and one that repeats what was sent, within an hour"
            + " or without a lookup, send nothing")
    void nothing() throws Exception {
        run();
        assertEquals(List.of(), store.requests());
        run("a");
        run("a");
        now = now.plus(HOUR);
        run();
        assertEquals(1, puts());
    }

    @Test
    @DisplayName("a process that asks for it sends its notes within the hour, once")
    void atOnce() throws Exception {
        run("a");
        try (Running process = process()) {
            process.use("b");
            process.log.send();
            assertEquals(2, puts());
        }
        assertEquals(2, puts());
        assertIds(notes().getFirst(), "a", "b");
    }

    @Test
    @DisplayName("a refused note is tried again a day later, closes no circuit, and nothing is"
            + " collected meanwhile")
    void refused() throws Exception {
        store.plan(FaultPlan.always(new Fault.Lost(Fault.DENIED)));
        try (Running process = process()) {
            process.use("a").report();
            now = now.plus(Duration.ofHours(23));
            process.report();
            assertEquals(1, puts());
            assertEquals(0, process.bucket.statistics().breakerOpenings());
        }
        run("b");
        store.plan(FaultPlan.SOUND);
        now = now.plus(HOUR);
        run("c");
        assertIds(note(), "c");
    }

    @Test
    @DisplayName("a note that was lost is sent with the next one, an hour later")
    void lost() throws Exception {
        store.plan(FaultPlan.always(new Fault.Lost(Fault.ERROR_500)));
        run("a");
        store.plan(FaultPlan.SOUND);
        run("b");
        assertEquals(1, puts());
        now = now.plus(Duration.ofDays(3));
        run("c");
        assertIds(note(), "a", "b", "c");
        assertEquals(3, note().counters().get("local-hits"));
    }

    @Test
    @DisplayName("without credentials nothing is sent")
    void noCredentials() throws Exception {
        hasCredentials = false;
        run("a");
        assertEquals(List.of(), store.requests());
    }

    @Test
    @DisplayName("a damaged state begins anew, with another machine number, and a directory that"
            + " cannot be used is no failure")
    void damaged() throws Exception {
        run("a");
        String machine = note().machine();
        Path state;
        try (Stream<Path> files = Files.list(directory.resolve("notes"))) {
            state = files.filter(file -> !file.endsWith("lock")).findFirst().orElseThrow();
        }
        now = now.plusSeconds(1);
        for (String content : List.of("", "x", "\u0000", "{}")) {
            Files.writeString(Path.of(state + ".more"), content + "\n");
            run("b");
        }
        for (String content :
                List.of("", "x", "0123456789abcdef 2026-11-28 0 0 true\n{}\n", "\u0000\n\n\n")) {
            Files.writeString(state, content);
            now = now.plus(HOUR);
            run("b");
        }
        assertTrue(
                notes().stream().filter(each -> !each.machine().equals(machine)).count() == 4);
        Files.delete(state);
        Files.createDirectory(state);
        run("c");
    }

    @Test
    @DisplayName("counters that were set to 0, and a clock that was set back, lose nothing but the"
            + " counters of that time")
    void resetAndClock() throws Exception {
        run("a", "b");
        new Totals(directory).reset();
        now = now.plus(HOUR);
        run("c");
        assertEquals(1, note().counters().get("local-hits"));
        now = now.minus(Duration.ofDays(400));
        run("d");
        now = now.plus(Duration.ofDays(401));
        run("e");
        assertEquals(
                List.of("2025-10-24", "2026-11-28", "2026-11-29"),
                notes().stream().map(each -> each.day().toString()).toList());
        assertIds(notes().get(0), "d");
    }

    @Test
    @DisplayName("of two processes that end at once the second sends nothing, also if it read the"
            + " clock before the first did")
    void endTogether() throws Exception {
        run("a");
        now = now.minusMillis(1);
        run("b");
        assertIds(note(), "a");
        now = now.plus(HOUR.multipliedBy(2));
        run("c");
        assertIds(note(), "a", "b", "c");
    }

    @Test
    @DisplayName("a process without a local directory notes what it used itself, under a number of"
            + " its own")
    void withoutDirectory() throws Exception {
        for (int i = 0; i < 2; i++) {
            try (Running process = new Running("0", settings())) {
                process.use("a").report();
                now = now.plus(HOUR);
                process.use("b");
            }
        }
        assertEquals(2, notes().size());
        assertNotEquals(notes().get(0).machine(), notes().get(1).machine());
        assertIds(notes().get(0), "a", "b");
        assertEquals(2, notes().get(0).counters().get("local-hits"));
    }

    @Test
    @DisplayName("a process that exits without a close keeps its ids for the next one")
    void exit() throws Exception {
        Running process = process().use("a");
        process.log.finish(false);
        process.closeTiers();
        assertEquals(List.of(), store.requests());
        run("b");
        assertIds(note(), "a", "b");
    }

    @Test
    @DisplayName("a process keeps at most 100,000 ids")
    void many() throws Exception {
        try (Running process = process()) {
            IntStream.range(0, 100_001).forEach(i -> process.use("kernel " + i));
        }
        assertEquals(
                100_000,
                note().ids().values().stream().mapToInt(each -> each.length).sum());
    }
}
