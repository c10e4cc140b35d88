package dev.granary.wrap;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.cache.Id;
import dev.granary.coordinator.LaterServer;
import dev.granary.coordinator.SilentServer;
import dev.granary.coordinator.config.ConfigException;
import dev.granary.coordinator.tier.TierFactory;
import dev.granary.s3.BucketTier;
import dev.granary.s3.UseNotes;
import dev.granary.s3.embedded.EmbeddedS3;
import dev.granary.s3.store.WriteResult;
import dev.granary.testing.ChildJvm;
import dev.granary.wrap.WrapResult.ToolResult;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDate;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.Stream;

/** Tests of programs that run with shared files: real processes, and a real S3 server. */
class WrapTest {
    private static final String BUCKET = "s3://kernels/team";
    private static final String WRITE_MANY =
            "for i in 1 2 3 4 5; do head -c 1000000 /dev/urandom | base64 >$D/$i; done";

    private static final String WRITE_THREE =
            "mkdir -p $D/sub; printf one >$D/one.bin; printf two >$D/sub/two.bin; printf 3 >$D/3";

    private final EmbeddedS3 server;
    private final Path directory;

    WrapTest(@TempDir Path directory) throws IOException {
        this.directory = directory;
        this.server = EmbeddedS3.start(null);
    }

    @BeforeEach
    void createBucket() {
        server.createBucket("kernels");
    }

    @AfterEach
    void stop() {
        server.close();
    }

    private WrapMachine machine(String name) throws IOException {
        return WrapMachine.of(directory.resolve(name), server, BUCKET);
    }

    private static ToolResult only(WrapResult result) {
        assertEquals(1, result.tools().size(), result::toString);
        return result.tools().getFirst();
    }

    @Test
    @DisplayName("files that a program writes are there when it starts on another machine, and the"
            + " result says how many of them it has opened")
    void shared() throws Exception {
        WrapMachine first = machine("first");
        WrapResult wrote = first.run(WRITE_THREE);
        assertEquals(3, only(wrote).written(), wrote::toString);
        assertEquals(3, only(wrote).published(), wrote::toString);
        assertEquals(Map.of(), wrote.failures());

        WrapMachine second = machine("second");
        WrapResult read = second.run("cat $D/one.bin $D/sub/two.bin >/dev/null");
        assertEquals(3, only(read).fetched(), read::toString);
        assertEquals(7, only(read).fetchedBytes());
        assertEquals(2, only(read).opened().orElseThrow(), read::toString);
        assertEquals(0, only(read).written(), read::toString);
        assertEquals(first.contents(), second.contents());

        WrapResult again = second.run("true");
        assertEquals(0, only(again).fetched(), again::toString);
        assertEquals(0, only(again).written(), again::toString);
    }

    @Test
    @DisplayName("the bucket learns which fetched files a program has opened, and of no others")
    void uses() throws Exception {
        machine("first").run(WRITE_THREE);
        WrapMachine second = machine("second");
        second.run("cat $D/one.bin");
        List<Integer> used = new ArrayList<>();
        LocalDate today = LocalDate.now(ZoneOffset.UTC);
        try (BucketTier bucket = TierFactory.bucket(
                second.config().build().buckets().getFirst(), Optional.empty())) {
            bucket.useNotes().read(today.minusDays(2), today.plusDays(2), note -> note.ids()
                    .values()
                    .forEach(ids -> used.add(ids.length)));
        }
        used.sort(Comparator.naturalOrder());
        assertEquals(List.of(1, 3), used, "of the second machine and of the publisher");
    }

    private static Id id(String path) throws ConfigException {
        Path unused = Path.of("/");
        Scope scope = Scope.of(Tool.ofDirectory("any"), unused, unused, System.getenv(), "");
        return FileGroup.id(scope.target(), path, Optional.empty());
    }

    /** Writes notes of other machines that have used the file {@code 1} the day before. */
    private static void note(WrapMachine machine, LocalDate today, int machines) throws Exception {
        try (BucketTier bucket = TierFactory.bucket(
                machine.config().build().buckets().getFirst(), Optional.empty())) {
            for (int i = 0; i < machines; i++) {
                WriteResult written = bucket.useNotes()
                        .write(new UseNotes.UseNote(
                                today.minusDays(1),
                                HexFormat.of().toHexDigits((long) i),
                                new TreeMap<>(Map.of(
                                        id("1").target().path(),
                                        new long[] {id("1").hash().prefix()})),
                                Map.of()));
                assertTrue(written instanceof WriteResult.Done, written::toString);
            }
        }
    }

    @Test
    @DisplayName(
            "files that were unused for 90 days are not fetched, unless there are more notes of"
                    + " use than what could be saved is worth")
    void unused() throws Exception {
        machine("first").run(WRITE_MANY);
        try (LaterServer later =
                new LaterServer(server.endpoint().toString(), Duration.ofDays(100))) {
            LocalDate today = LocalDate.now(ZoneOffset.UTC).plusDays(100);
            WrapMachine second = machine("second");
            second.endpoint = later.endpoint();
            note(second, today, 1);
            ToolResult left = only(second.run("true"));
            assertEquals(Set.of("1"), second.contents().keySet());
            assertEquals(Map.of("unused for 90 days", 4), left.skipped());

            WrapMachine third = machine("third");
            third.endpoint = later.endpoint();
            note(third, today, 30);
            assertEquals(5, only(third.run("true")).fetched());
        }
        assertEquals(5, only(machine("last").run("true")).fetched());
    }

    @Test
    @DisplayName("the newest packs are fetched, until the capacity is reached")
    void capacity() throws Exception {
        for (String name : List.of("a", "b", "c")) {
            machine("of-" + name).run("head -c 1048576 /dev/urandom >$D/" + name);
        }
        WrapMachine small = machine("small");
        ToolResult result = only(small.wrap(small.config().capacity("1MiB")).run(List.of("true")));
        assertTrue(Files.exists(small.files.resolve("c")), result::toString);
        assertEquals(Map.of("beyond the capacity of 1 MiB", 2), result.skipped());
    }

    @Test
    @DisplayName(
            "of a shared directory, files that were unused for 90 days are not fetched; a program"
                    + " that opens a file uses it")
    void unusedInDirectory() throws Exception {
        String layer = "file://" + directory.resolve("shared");
        WrapMachine.of(directory.resolve("first"), "", layer).run(WRITE_THREE);
        setAges(Duration.ofDays(80));
        WrapMachine second = WrapMachine.of(directory.resolve("second"), "", layer);
        assertEquals(3, only(second.run("cat $D/one.bin")).fetched());
        assertEquals(
                List.of(id("one.bin").hash().hex()),
                entries().stream()
                        .filter(entry -> age(entry).toDays() < 1)
                        .map(entry -> entry.getFileName().toString().replace(".entry", ""))
                        .toList());
        setAges(Duration.ofDays(92));
        WrapMachine third = WrapMachine.of(directory.resolve("third"), "", layer);
        third.run("printf new >$D/new");
        assertEquals(Map.of("new", "new"), third.contents());
        WrapMachine fourth = WrapMachine.of(directory.resolve("fourth"), "", layer);
        ToolResult left = only(fourth.run("true"));
        assertEquals(Map.of("new", "new"), fourth.contents());
        assertEquals(Map.of("unused for 90 days", 3), left.skipped());
    }

    private List<Path> entries() throws IOException {
        try (Stream<Path> files = Files.walk(directory.resolve("shared"))) {
            return files.filter(file -> file.toString().endsWith(".entry")).toList();
        }
    }

    private static Duration age(Path file) {
        try {
            return Duration.between(Files.getLastModifiedTime(file).toInstant(), Instant.now());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private void setAges(Duration age) throws IOException {
        for (Path entry : entries()) {
            Files.setLastModifiedTime(entry, FileTime.from(Instant.now().minus(age)));
        }
    }

    @Test
    @DisplayName("a run publishes with one pack and one swap, and fetches with one download")
    void fewRequests() throws Exception {
        machine("first").run("printf a >$D/a"); // writes the marker of the server's capabilities
        server.resetRequests();
        machine("second").run("for i in $(seq 50); do printf $i >$D/f$i; done");
        // the pack, the head, and the note of use
        assertEquals(3, server.requests().put(), server.requests()::toString);
        server.resetRequests();
        WrapResult read = machine("third").run("true");
        assertEquals(51, only(read).fetched(), read::toString);
        assertTrue(server.requests().total() <= 8, server.requests()::toString);
    }

    @Test
    @DisplayName("the exit code is that of the program, of a signal, or of a shell that finds none")
    void exitCodes() throws Exception {
        WrapMachine one = machine("one");
        assertEquals(7, one.run("exit 7").exitCode());
        assertEquals(128 + 9, one.run("kill -9 $$").exitCode());
        assertEquals(128 + 15, one.run("kill -TERM $$").exitCode());
        assertEquals(127, one.start("no-such-program").exitCode());
        Path text = Files.writeString(directory.resolve("text"), "no program");
        WrapResult refused = one.start(text.toString());
        assertEquals(126, refused.exitCode());
        assertEquals(Map.of(text.toString(), "it cannot be executed"), refused.failures());
    }

    @Test
    @DisplayName("of a program that is killed, nothing is published that might be half written")
    void killed() throws Exception {
        WrapResult result = machine("one").run("printf ha >$D/half; kill -9 $$");
        assertEquals(0, only(result).written(), result::toString);
        assertEquals(0, only(machine("two").run("true")).fetched());
    }

    @Test
    @DisplayName("while a service runs, what it has finished is published, and nothing that it has"
            + " open; a kill later changes nothing")
    void service() throws Exception {
        WrapMachine one = machine("one");
        one.every = Duration.ofMillis(500);
        Path end = directory.resolve("end");
        try (ExecutorService threads = Executors.newSingleThreadExecutor()) {
            Future<WrapResult> running =
                    threads.submit(() -> one.run("exec 3>$D/open; printf ha >&3;"
                            + " printf whole >$D/whole; while [ ! -e " + end
                            + " ]; do sleep 0.1; done;"
                            + " kill -9 $$")); // several looks have seen the half file
            WrapMachine two = machine("two");
            while (only(two.run("true")).fetched() == 0) {
                assertFalse(running.isDone(), "it ends when it is told to");
            }
            assertEquals(Map.of("whole", "whole"), two.contents());
            Files.createFile(end);
            assertEquals(128 + 9, running.get().exitCode());
            assertEquals(Map.of("whole", "whole"), contentsOf(machine("three")));
        }
    }

    private static Map<String, String> contentsOf(WrapMachine machine) throws Exception {
        machine.run("true");
        return machine.contents();
    }

    @Test
    @DisplayName("nothing that is there is overwritten, and what was there before is not published")
    void nothingOverwritten() throws Exception {
        machine("first").run(WRITE_THREE);
        WrapMachine second = machine("second");
        Files.writeString(second.files.resolve("one.bin"), "mine");
        Files.writeString(second.files.resolve("old"), "from before");
        WrapResult result = second.run("true");
        assertEquals(2, only(result).fetched(), result::toString);
        assertEquals("mine", second.contents().get("one.bin"));
        assertFalse(contentsOf(machine("third")).containsKey("old"));
    }

    @Test
    @DisplayName("read-only: files are fetched, and none is published")
    void readOnly() throws Exception {
        machine("first").run(WRITE_THREE);
        WrapMachine second = machine("second");
        second.isReadOnly = true;
        assertEquals(3, only(second.run("printf x >$D/more")).fetched());
        assertEquals(3, contentsOf(machine("third")).size());
    }

    @Test
    @DisplayName("in a layer that is only read nothing is published, and the result says so")
    void readOnlyLayer() throws Exception {
        WrapMachine first =
                WrapMachine.of(directory.resolve("first"), server, BUCKET + "?access=read");
        ToolResult result = only(first.run("printf x >$D/more"));
        assertEquals(1, result.written());
        assertEquals(0, result.published());
        assertEquals(Map.of(), contentsOf(machine("second")));
    }

    @Test
    @DisplayName("runs with another text in their scope share nothing")
    void scopes() throws Exception {
        machine("first").run(WRITE_THREE);
        WrapMachine second = machine("second");
        second.scope = "version 2";
        assertEquals(0, only(second.run("true")).fetched());
        assertEquals(
                List.of("system", "gpu", "--scope"),
                second.wrap(second.config()).scopes().getFirst().facts().keySet().stream()
                        .filter(name -> !name.equals("processor") && !name.equals("kernel driver"))
                        .toList());
    }

    @Test
    @DisplayName("a shared directory is a layer, and the local directory serves a machine offline")
    void withoutServer() throws Exception {
        String layer = "file://" + directory.resolve("shared");
        WrapMachine.of(directory.resolve("first"), "", layer).run(WRITE_THREE);
        WrapMachine second = WrapMachine.of(directory.resolve("second"), "", layer);
        assertEquals(3, only(second.run("true")).fetched());
        WrapMachine offline = WrapMachine.of(directory.resolve("second"), "");
        for (String file : second.contents().keySet()) {
            Files.delete(offline.files.resolve(file));
        }
        assertEquals(3, only(offline.run("true")).fetched());
    }

    @Test
    @DisplayName("groups are fetched whole, and one that exists stays as it is")
    void groups() throws Exception {
        WrapMachine first = machine("first");
        first.tool = "deepgemm";
        first.run("mkdir -p $D/cache/abc $D/cache/def; printf 1 >$D/cache/abc/k.cubin;"
                + " printf 2 >$D/cache/abc/k.cu; printf 3 >$D/cache/def/k.cubin");
        WrapMachine second = machine("second");
        second.tool = "deepgemm";
        Files.createDirectories(second.files.resolve("cache/abc"));
        Files.writeString(second.files.resolve("cache/abc/k.cubin"), "own");
        assertEquals(
                Map.of("cache/abc/k.cubin", "own", "cache/def/k.cubin", "3"), contentsOf(second));
    }

    @Test
    @DisplayName("of files that a tool rewrites, the newest content is fetched")
    void rewritten() throws Exception {
        WrapMachine first = machine("first");
        first.tool = "numba";
        first.run("mkdir $D/f; printf old >$D/f/f.nbi");
        first.run("printf new >$D/f/f.nbi; printf 1 >$D/f/f.1.nbc");
        WrapMachine second = machine("second");
        second.tool = "numba";
        assertEquals(Map.of("f/f.nbi", "new", "f/f.1.nbc", "1"), contentsOf(second));
    }

    @Test
    @DisplayName("locks, databases, empty files and links are not shared")
    void refused() throws Exception {
        WrapResult result = machine("first")
                .run("printf x >$D/a.lock; printf x >$D/k.sqlite;"
                        + " printf x >$D/b.tmp; printf 'SQLite format 3 ...' >$D/data; : >$D/empty;"
                        + " ln -s /etc/passwd $D/link; printf x >$D/block; ln -s $D $D/around");
        assertEquals(Map.of("data is a database", 1), only(result).skipped(), result::toString);
        assertEquals(Map.of("block", "x"), contentsOf(machine("second")));
    }

    @Test
    @DisplayName("many machines at once: each program ends well, and each file is whole")
    void atOnce() throws Exception {
        List<Future<WrapResult>> results = new ArrayList<>();
        try (ExecutorService threads = Executors.newFixedThreadPool(4)) {
            for (int i = 0; i < 4; i++) {
                WrapMachine each = machine("machine-" + i);
                String script = "for k in 1 2 3 4 5; do printf 'by " + i + "' >$D/$k; done";
                results.add(threads.submit(() -> each.run(script)));
            }
            for (Future<WrapResult> result : results) {
                assertEquals(0, result.get().exitCode());
                assertEquals(5, only(result.get()).published(), result.get()::toString);
            }
        }
        Map<String, String> contents = contentsOf(machine("last"));
        assertEquals(5, contents.size());
        contents.values().forEach(text -> assertTrue(text.matches("by [0-3]"), text));
    }

    @Test
    @DisplayName("a silent server costs a few seconds, and the next run uploads what is left")
    void silent() throws Exception {
        try (SilentServer silent = new SilentServer()) {
            WrapMachine one = WrapMachine.of(directory.resolve("one"), silent.endpoint(), BUCKET);
            one.bucketWait = Duration.ZERO;
            WrapResult result = one.run("printf x >$D/x; exit 3");
            assertEquals(3, result.exitCode());
            assertTrue(
                    result.failures().toString().contains("no answer within 5 s"),
                    result::toString);
            assertEquals(0, only(result).published(), result::toString);
        }
    }

    @Test
    @DisplayName("without a server, a bucket or rights the program runs, and the cause is named")
    void failures() throws Exception {
        int unused;
        try (ServerSocket socket = new ServerSocket(0)) {
            unused = socket.getLocalPort();
        }
        WrapResult refused = WrapMachine.of(
                        directory.resolve("one"), "http://127.0.0.1:" + unused, BUCKET)
                .run("exit 0");
        assertTrue(
                refused.failures().toString().contains("onnection refused")
                        || refused.failures().toString().contains("refuses"),
                refused::toString);
        WrapMachine missing = WrapMachine.of(directory.resolve("two"), server, "s3://missing/team");
        WrapResult noBucket = missing.run("printf x >$D/x");
        assertEquals(0, noBucket.exitCode());
        assertTrue(noBucket.failures().toString().contains("NoSuchBucket"), noBucket::toString);
        server.createBucket("missing");
        missing.run("printf y >$D/y");
        assertEquals(
                Map.of("x", "x", "y", "y"),
                contentsOf(
                        WrapMachine.of(directory.resolve("three"), server, "s3://missing/team")));
    }

    @Test
    @DisplayName(
            "where the locale has ASCII only, a program gets its variables unchanged, and files"
                    + " whose names have other characters are left out and named")
    void ascii() throws Exception {
        String layer = "file://" + directory.resolve("layer");
        WrapMachine.of(directory.resolve("one"), server, layer)
                .run("printf x >$D/$(printf '\\303\\251'); printf z >$D/z");
        String skipped = ChildJvm.of(InAscii.class)
                .shortLived()
                .variables(Map.of("LC_ALL", "C", "GRANARY_TEST_TEXT", "é"))
                .run(directory.resolve("two").toString(), layer)
                .output();
        assertTrue(
                skipped.contains("{the locale has no such names; set LC_ALL=C.UTF-8=1}"), skipped);
        Map<String, String> contents = contentsOf(WrapMachine.of(directory.resolve("two"), server));
        assertEquals("z", contents.get("z"));
        assertEquals("é", contents.get("text"));
    }

    /** Runs a program in a process of its own. Arguments: the directory and the layer. */
    static final class InAscii {
        private InAscii() {}

        public static void main(String[] arguments) throws Exception {
            WrapMachine machine =
                    WrapMachine.of(Path.of(arguments[0]), "http://unused", arguments[1]);
            WrapResult result = machine.run("printf x >$D/$(printf '\\303\\251');"
                    + " printf \"$GRANARY_TEST_TEXT\" >$D/text");
            System.out.println(only(result).skipped());
        }
    }

    @Test
    @DisplayName("an empty --dir is not the working directory, and none is the root")
    void emptyDirectory() throws Exception {
        for (String path : List.of("", " ", "/")) {
            Wrap wrap = new Wrap(
                    machine("one").config(),
                    List.of(),
                    Map.of("any", path),
                    "",
                    false,
                    Duration.ZERO,
                    Duration.ZERO);
            assertThrows(ConfigException.class, wrap::scopes);
        }
    }

    @Test
    @DisplayName("arguments that the locale does not have stop before the program starts")
    void unknownCharacters() throws Exception {
        WrapMachine one = machine("one");
        String file = one.files + "/\ufffd";
        assertThrows(ConfigException.class, () -> one.start("touch", file));
        assertEquals(Map.of(), one.contents());
    }

    @Test
    @DisplayName("a name that is no tool stops before the program starts, with the nearest one")
    void unknownTool() throws Exception {
        WrapMachine one = machine("one");
        Wrap mistyped = new Wrap(
                one.config(), List.of("pcol"), Map.of(), "", false, Duration.ZERO, Duration.ZERO);
        ConfigException failure = assertThrows(
                ConfigException.class, () -> mistyped.run(List.of("touch", "" + one.files + "/x")));
        assertTrue(failure.toString().contains("pocl"), failure::toString);
        assertEquals(Map.of(), one.contents());
    }
}
