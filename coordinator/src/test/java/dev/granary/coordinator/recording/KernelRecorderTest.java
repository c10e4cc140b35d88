package dev.granary.coordinator.recording;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.cache.Deadline;
import dev.granary.cache.Id;
import dev.granary.cache.PrimitiveDescriptor;
import dev.granary.cache.Target;
import dev.granary.coordinator.FakeDescriptor;
import dev.granary.coordinator.FakeEngine;
import dev.granary.coordinator.Granary;
import dev.granary.coordinator.config.ConfigException;
import dev.granary.coordinator.config.GranaryConfig;
import dev.granary.coordinator.config.GranaryConfigBuilder;
import dev.granary.coordinator.observe.Counters;
import dev.granary.coordinator.statistics.Counter;
import dev.granary.gpu.KernelDescriptor;
import dev.granary.testing.ChildJvm;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.api.io.TempDir;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Stream;

/** Tests of recording by threads and processes, and of its failures. */
@Timeout(300)
class KernelRecorderTest {
    private final Path directory;
    private final Path file;
    private final Counters counters = new Counters();

    KernelRecorderTest(@TempDir Path directory) {
        this.directory = directory;
        this.file = directory.resolve("kernels.toml");
    }

    private static Set<String> names(String prefix, int count) {
        Set<String> names = new TreeSet<>();
        for (int i = 0; i < count; i++) {
            names.add(prefix + i);
        }
        return names;
    }

    private Set<String> recorded() throws Exception {
        List<String> names = RecordedSample.names(file);
        Set<String> distinct = new TreeSet<>(names);
        assertEquals(names.size(), distinct.size(), "a name is there twice");
        return distinct;
    }

    @Test
    @DisplayName("Threads of several recorders lose no kernel, and none is there twice")
    void threads() throws Exception {
        List<Thread> threads = new ArrayList<>();
        List<KernelRecorder> recorders =
                List.of(new KernelRecorder(file, counters), new KernelRecorder(file, counters));
        for (int i = 0; i < 8; i++) {
            KernelRecorder recorder = recorders.get(i % 2);
            threads.add(Thread.ofPlatform().start(() -> names("k", 100)
                    .forEach(name -> recorder.record(RecordedSample.kernel(name)))));
        }
        for (Thread thread : threads) {
            thread.join();
        }
        recorders.forEach(KernelRecorder::close);
        assertEquals(names("k", 100), recorded());
        assertEquals(100, counters.sum(Counter.RECORDED));
        assertEquals(0, counters.sum(Counter.RECORD_FAILURES));
    }

    @Test
    @DisplayName("Processes that end without a close lose no kernel; one that is killed meanwhile"
            + " leaves a file that can be read, and no unfinished one")
    void processes() throws Exception {
        List<ChildJvm.Recording> ending = new ArrayList<>();
        for (String prefix : List.of("a", "b")) {
            ending.add(ChildJvm.of(RecordingProcess.class)
                    .shortLived()
                    .record(file.toString(), prefix, "60"));
        }
        Process killed = ChildJvm.of(RecordingProcess.class)
                .shortLived()
                .start(file.toString(), "killed", "500", "wait");
        try (BufferedReader out = new BufferedReader(
                new InputStreamReader(killed.getInputStream(), StandardCharsets.UTF_8))) {
            for (int i = 0; i < 50; i++) {
                out.readLine();
            }
            killed.destroyForcibly().waitFor();
        }
        for (ChildJvm.Recording process : ending) {
            ChildJvm.Result result = process.end();
            assertEquals(0, result.exitCode(), result::toString);
        }
        try (KernelRecorder last = new KernelRecorder(file, counters)) {
            last.record(RecordedSample.kernel("last"));
        }
        Set<String> expected = names("a", 60);
        expected.addAll(names("b", 60));
        expected.add("last");
        Set<String> found = recorded();
        found.removeIf(name -> name.startsWith("killed"));
        assertEquals(expected, found);
        try (Stream<Path> files = Files.list(Path.of(file + ".d"))) {
            assertEquals(
                    List.of(),
                    files.filter(each -> each.toString().endsWith(".tmp")).toList());
        }
    }

    @Test
    @DisplayName("While another process holds the lock, recording delays no caller; a failed write"
            + " is counted, and the next one writes its kernels")
    void locked() throws Exception {
        Path lock = Files.createDirectories(Path.of(file + ".d")).resolve("lock");
        try (KernelRecorder recorder = new KernelRecorder(file, counters)) {
            try (FileChannel channel = FileChannel.open(
                            lock, StandardOpenOption.CREATE, StandardOpenOption.WRITE);
                    FileLock _ = channel.lock()) {
                recorder.record(RecordedSample.kernel("first"));
                assertFalse(recorder.flush(Deadline.after(Duration.ZERO)));
                assertFalse(Files.exists(file));
            }
        }
        assertEquals(Set.of("first"), recorded());
    }

    @Test
    @DisplayName("A recording that cannot be written fails no caller; it is counted, and written"
            + " as soon as it can be")
    void unwritable() throws Exception {
        Path obstacle = Files.writeString(Path.of(file + ".d"), "a file");
        try (KernelRecorder recorder = new KernelRecorder(file, counters)) {
            for (String name : List.of("a", "b", "c")) {
                recorder.record(RecordedSample.kernel(name));
                assertTrue(recorder.flush(Deadline.NONE));
            }
            assertEquals(3, counters.sum(Counter.RECORD_FAILURES));
            assertEquals(0, counters.sum(Counter.RECORDED));
            Files.delete(obstacle);
        }
        assertEquals(Set.of("a", "b", "c"), recorded());
        assertEquals(3, counters.sum(Counter.RECORDED));
    }

    @Test
    @DisplayName("A kernel beyond those that may await a write is recorded when it is obtained"
            + " again")
    void tooManyUnwritten() throws Exception {
        Path obstacle = Files.writeString(Path.of(file + ".d"), "a file");
        try (KernelRecorder recorder = new KernelRecorder(file, counters)) {
            for (int i = 0; i < KernelRecorder.MAX_UNWRITTEN; i++) {
                recorder.record(new Uncacheable("waiting " + i));
            }
            recorder.record(RecordedSample.kernel("late"));
            assertTrue(recorder.flush(Deadline.NONE));
            Files.delete(obstacle);
            recorder.record(new Uncacheable("another"));
            assertTrue(recorder.flush(Deadline.NONE));
            recorder.record(RecordedSample.kernel("late"));
        }
        assertEquals(Set.of("late"), recorded());
    }

    /** A descriptor of an application, of which a recording has a comment only. */
    private record Uncacheable(String name) implements PrimitiveDescriptor {
        @Override
        public Id getId() {
            return Id.notCacheable("a test");
        }

        @Override
        public Target target() {
            return RecordedSample.kernel("any").target();
        }
    }

    @Test
    @DisplayName(
            "A recording of more than 4 MiB, which nothing could read, is refused, and stays as"
                    + " it was")
    void tooLong() throws Exception {
        try (KernelRecorder recorder = new KernelRecorder(file, counters)) {
            recorder.record(RecordedSample.kernel("small"));
            assertTrue(recorder.flush(Deadline.NONE));
            recorder.record(KernelDescriptor.builder(RecordedSample.TARGET, "large")
                    .source("kernel void k() {}")
                    .options("-DX=" + "x".repeat(5 << 20))
                    .build());
        }
        assertEquals(Set.of("small"), recorded());
        assertTrue(counters.sum(Counter.RECORD_FAILURES) >= 1);
    }

    @Test
    @DisplayName(
            "A kernel without an id, and one that is not described by sources, is a comment with"
                    + " the reason")
    void comments() throws Exception {
        try (KernelRecorder recorder = new KernelRecorder(file, counters)) {
            for (int i = 0; i < 2; i++) {
                recorder.record(KernelDescriptor.builder(RecordedSample.TARGET, "dated")
                        .source("constant char *built = __DATE__;")
                        .build());
                recorder.record(FakeDescriptor.of("a\nfake = 1"));
                recorder.record(FakeDescriptor.notCacheable("secret"));
            }
        }
        assertEquals(Set.of(), recorded());
        String text = Files.readString(file);
        assertEquals(
                3,
                text.lines().filter(line -> line.startsWith("# Not recorded: ")).count(),
                text);
        assertTrue(text.contains("# Not recorded: dated: "), text);
    }

    @Test
    @DisplayName(
            "A lookup of a cache with a recording records, and the file is there after a flush")
    void lookups() throws Exception {
        GranaryConfig config = config().record(file).build();
        try (Granary granary = Granary.open(config)) {
            granary.primitive(new FakeEngine("1"), FakeDescriptor.of("fake"));
            assertTrue(granary.flush(Duration.ofMinutes(1)));
            assertTrue(Files.readString(file).contains("# Not recorded: fake: "));
        }
    }

    private GranaryConfigBuilder config() throws ConfigException {
        return GranaryConfig.builder()
                .environment(Map.of("XDG_CONFIG_HOME", directory + "-none"))
                .directory(directory.resolve("cache"));
    }

    @Test
    @DisplayName("A recording at a wrong place is a configuration error with the cure, and nothing"
            + " is overwritten")
    void wrongPlaces() throws Exception {
        Path manifest = directory.resolve("mine.toml");
        Files.writeString(manifest, "[[kernel]]\nname = 'k'\nsource = 'k.cl'\n");
        Files.writeString(directory.resolve("taken.toml.d"), "");
        Path binary = directory.resolve("binary.toml");
        Files.write(binary, new byte[] {'#', (byte) 0xff});
        Map<Path, String> wrong = Map.of(
                binary,
                "is not UTF-8 text",
                directory,
                "is a directory; name a file in it",
                directory.resolve("no/kernels.toml"),
                "create it",
                directory.resolve("taken.toml"),
                "name another file",
                manifest,
                "is not a recording");
        for (Map.Entry<Path, String> place : wrong.entrySet()) {
            GranaryConfig config = config().record(place.getKey()).build();
            for (var open : List.<Executable>of(
                    () -> Granary.open(config).close(),
                    () -> Granary.builder().config(config).open().close())) {
                ConfigException error = assertThrows(ConfigException.class, open);
                assertTrue(
                        String.valueOf(error.getMessage()).contains(place.getValue()),
                        error::toString);
            }
        }
        assertThrows(IOException.class, () -> new RecordingFile(manifest)
                .add(List.of(RecordedSample.kernel("k")), List.of()));
        assertTrue(Files.readString(manifest).startsWith("[[kernel]]"));
    }
}
