package dev.granary.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.google.gson.JsonObject;

import dev.granary.cache.Backend;
import dev.granary.cache.Entry;
import dev.granary.cache.EntryMetadata;
import dev.granary.cache.Id;
import dev.granary.cache.KernelBinaries;
import dev.granary.cache.Target;
import dev.granary.cache.contract.StoredEntry;
import dev.granary.local.LocalTier;
import dev.granary.local.LocalTierConfig;
import dev.granary.testing.ChildJvm;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import picocli.CommandLine;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Stream;

/**
 * Tests of the command without a device: usage, messages, exit codes, and the commands that inspect
 * a store.
 */
class CommandTest {
    private final Path directory;
    private final String local;

    CommandTest(@TempDir Path directory) {
        this.directory = directory;
        this.local = directory.resolve("local").toString();
    }

    /** Fills the local directory, and returns the ids as ls shows them. */
    private List<String> fill(int entries) throws Exception {
        Target target = new Target(Backend.OPENCL, "vendor", "Device\u001b[31m 9000", "1.2.3");
        List<String> ids = new ArrayList<>();
        try (LocalTier tier =
                LocalTier.open(LocalTierConfig.builder(Path.of(local)).build())) {
            for (int i = 0; i < entries; i++) {
                Id id = Id.builder(target)
                        .field("kind", "kernel-source")
                        .field("source", "void k" + i + "() {}" + "/".repeat(200))
                        .build();
                tier.store(Entry.of(
                        id,
                        KernelBinaries.of(new byte[2000]),
                        Duration.ofMillis(250),
                        new EntryMetadata(
                                "0.1",
                                "host/1",
                                Instant.EPOCH,
                                List.of("k" + i),
                                List.of(),
                                "kernel " + i + " with a readable key that is long "
                                        + "x".repeat(100))));
                ids.add(id.hash().hex());
            }
        }
        return ids;
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                "--wrong",
                "conquer",
                "ls --wrong",
                "ls extra",
                "ls one two",
                "get",
                "inspect",
                "inspect 12 34 56",
                "ls --dir",
                "populate --upload-limit soon m.toml",
                "populate --upload-limit 0 m.toml",
                "warm",
                "warm extra",
                "warm --bucket s3://abc --target ../e",
                "warm --bucket s3://abc --capacity 0",
                "compact",
                "compact s3://abc --grace soon",
                "compact /tmp",
                "compact s3://abc?access=read --target opencl/x",
                "compact --bucket s3://abc --target opencl/x",
                "compact s3://abc --target abc",
                "verify --bucket s3://abc",
                "evict --to 0 --bucket s3://abc",
                "evict --all --endpoint http://h",
                "ls --bucket s3://abc",
                "stats --client minio",
                "stats /tmp --dir /tmp",
                "populate m.toml",
                "run --require-bucket m.toml",
                "warm --bucket s3://abc --target opencl/.."
            })
    @DisplayName("Wrong usage ends with 2, a message, and nothing on standard output")
    void wrongUsage(String arguments) {
        Cli result = Cli.run(arguments.isEmpty() ? new String[0] : arguments.split(" "))
                .exits(2);
        assertEquals("", result.out());
        assertTrue(!result.err().isBlank());
        if (!arguments.isEmpty()) {
            assertTrue(
                    result.err().lines().count() <= 2,
                    "the one useful line, and where to find more: " + result.err());
        }
    }

    @Test
    @DisplayName("options without effect are rejected with an alternative, not silently ignored")
    void uselessOptions() {
        for (String command : List.of("ls", "stats", "verify", "evict")) {
            Cli.run(command, "--bucket", "s3://abc")
                    .exits(2)
                    .reports("'--bucket'", "granary " + command + " --help");
            assertFalse(Cli.run(command, "--help").exits(0).out().contains("--bucket"));
        }
        for (String command : List.of("ls", "stats", "verify")) {
            Cli.run(command, "--dir", local, "--endpoint", "http://h")
                    .exits(2)
                    .reports("have no effect on a directory; name a bucket");
            Cli.run(command, "s3://abc", "--dir", local)
                    .exits(2)
                    .reports("have no effect beside a place");
        }
    }

    @Test
    @DisplayName("help is a command, --help lists all commands of the launcher, and a mistyped"
            + " command gets one line and a hint")
    void helpOfAll() {
        Cli all = Cli.run("--help").exits(0);
        Main.commandLine().getSubcommands().keySet().stream()
                .filter(name -> !name.equals("help") && !name.equals("generate-completion"))
                .forEach(name -> all.prints(System.lineSeparator() + "  " + name + " "));
        all.prints(
                        "test ",
                        "bench ",
                        "server ",
                        "conformance ",
                        "mvn ",
                        "Exit codes: 0 done, 1 failed, 2 wrong")
                .isNarrow();
        Cli.run("help").exits(0).prints("populate", "conformance");
        Cli.run("help", "populate")
                .exits(0)
                .prints("--upload-limit", "MANIFEST")
                .isNarrow();
        Cli.run("populat")
                .exits(2)
                .reports("populat", "the nearest name is 'populate'", "Try 'granary --help'");
        Cli.run("ls", "--capcity", "1")
                .exits(2)
                .reports("Unknown option: '--capcity'; the nearest name is '--capacity'");
        Cli wrong = Cli.run("ls", "--wrong")
                .exits(2)
                .reports("granary: Unknown option: '--wrong'", "Try 'granary ls --help'.");
        assertEquals(2, wrong.err().lines().count(), wrong.err());
    }

    @Test
    @DisplayName("Help and version end with 0")
    void help() {
        Cli.run("--version").exits(0).prints("granary 0.1.0");
        Map<String, CommandLine> commands = Main.commandLine().getSubcommands();
        assertEquals(20 + 2, commands.size(), "twenty, help and completion");
        commands.forEach((name, command) -> {
            assertEquals(Map.of(), command.getSubcommands(), name);
            Cli help = Cli.run(name, "--help").exits(0).isNarrow();
            if (!name.equals("help") && !name.equals("generate-completion")) {
                help.prints("--json");
            }
        });
    }

    @Test
    @DisplayName("A wrong configuration ends with 2 and a message with the remedy")
    void wrongConfiguration() throws Exception {
        Cli.run("warm", "--dir", local, "--bucket", "kernels")
                .exits(2)
                .reports("granary: The bucket is 'kernels', but should be s3://name");
        String manifest = Files.writeString(
                        directory.resolve("m.toml"), "[[kernel]]\nname = 'k'\nsource = 'k.cl'\n")
                .toString();
        for (String command : List.of("get", "populate")) {
            Cli.run(command, "--dir", local, "--bucket", "kernels", manifest)
                    .exits(2)
                    .reports("The bucket is 'kernels'");
        }
        Cli.run("ls", "s3://team", "--endpoint", "localhost")
                .exits(2)
                .reports("The endpoint is 'localhost'", "http://127.0.0.1:9000");
        Cli.run("stats", "--dir", local, "--capacity", "big")
                .exits(2)
                .reports("The capacity is 'big'", "500MiB");
        Cli.run("doctor", "--dir", local, "--client", "curl").exits(2).reports("aws or minio");
        Cli.run("warm", "--dir", local)
                .exits(2)
                .reports("No bucket is configured", "--bucket", "GRANARY_BUCKET");
        Cli.run(
                        "warm",
                        "--dir",
                        local,
                        "--bucket",
                        "s3://team",
                        "--bucket",
                        "s3://team?access=read")
                .exits(2)
                .reports("s3://team is named twice");
        Files.writeString(directory.resolve("file"), "");
        Cli.run("ls", "--dir", directory.resolve("file").toString())
                .exits(1)
                .reports("not a directory");
        Cli.run("ls", "--dir=~/cache").exits(2).reports("The directory is '~/cache'", "without ~");
        Cli leaky =
                Cli.run("ls", "s3://abc", "--endpoint", "http://me:secret@h").exits(2);
        assertTrue(!leaky.err().contains("secret"), leaky.err());
    }

    @Test
    @DisplayName("A missing or invalid manifest ends with 2 and its position")
    void wrongManifest() throws Exception {
        Path missing = directory.resolve("missing.toml");
        Path wrong = Files.writeString(directory.resolve("wrong.toml"), "[[kernel]]\nname = 'k'\n");
        for (String command : List.of("get", "populate")) {
            Cli.run(command, "--dir", local, missing.toString())
                    .exits(2)
                    .reports("missing.toml cannot be read: there is no such file");
            Cli.run(command, "--dir", local, wrong.toString())
                    .exits(2)
                    .reports("wrong.toml:1:1", "has no source");
            Cli.run(command, "--dir", local, directory.toString())
                    .exits(2)
                    .reports("is a directory");
        }
    }

    @Test
    @DisplayName("ls, stats and inspect of an empty directory")
    void empty() {
        Cli.run("ls", "--dir", local).exits(0).prints("0 entries, 0 B in " + local);
        assertEquals(
                0,
                Cli.run("ls", "--dir", local, "--json")
                        .exits(0)
                        .json()
                        .getAsJsonArray("entries")
                        .size());
        Cli.run("stats", "--dir", local)
                .exits(0)
                .prints("entries    0", "No process has used")
                .isNarrow();
        assertEquals(
                0,
                Cli.run("stats", "--dir", local, "--json")
                        .exits(0)
                        .json()
                        .getAsJsonArray("targets")
                        .size());
        Cli.run("inspect", "--dir", local, "0123").exits(1).reports("there is no " + local);
    }

    @Test
    @DisplayName("ls and stats show the entries, in 80 columns and as JSON")
    void lsAndStats() throws Exception {
        List<String> ids = fill(3);
        Cli.run("ls", "--dir", local)
                .exits(0)
                .prints(ids.get(0).substring(0, 16), "3 entries", "opencl/");
        JsonObject listed = Cli.run("ls", "--dir", local, "--json").exits(0).json();
        assertEquals(
                ids.stream().sorted().toList(),
                listed.getAsJsonArray("entries").asList().stream()
                        .map(entry -> entry.getAsJsonObject().get("id").getAsString())
                        .sorted()
                        .toList());
        Cli.run("stats", "--dir", local, "--capacity", "1GiB")
                .exits(0)
                .prints("entries    3", "capacity   1.0 GiB");
        JsonObject stats = Cli.run("stats", "--dir", local, "--json").exits(0).json();
        assertEquals(
                3,
                stats.getAsJsonArray("targets")
                        .get(0)
                        .getAsJsonObject()
                        .get("entries")
                        .getAsInt());
    }

    @Test
    @DisplayName("inspect shows one entry in 80 columns, without control characters; unknown,"
            + " ambiguous and malformed ids differ in their messages")
    void inspect() throws Exception {
        List<String> ids = fill(20);
        Cli shown = Cli.run("inspect", "--dir", local, ids.get(0).toUpperCase(Locale.ROOT))
                .exits(0)
                .prints(ids.get(0), "intact", "250 ms", "host/1", "source");
        shown.out().lines().forEach(line -> assertTrue(line.length() <= 80, line));
        assertTrue(!shown.out().contains("\u001b"), shown.out());
        JsonObject json = Cli.run("inspect", "--dir", local, "--json", ids.get(1))
                .exits(0)
                .json();
        assertEquals(ids.get(1), json.get("id").getAsString());
        assertEquals("k1", json.getAsJsonArray("kernels").get(0).getAsString());
        String ambiguous = ids.stream()
                .map(id -> id.substring(0, 1))
                .filter(digit -> ids.stream().filter(id -> id.startsWith(digit)).count() > 1)
                .findFirst()
                .orElseThrow();
        Cli.run("inspect", "--dir", local, ambiguous)
                .exits(1)
                .reports("entries have ids that begin with " + ambiguous, "give more digits");
        Cli.run("inspect", "--dir", local, "f".repeat(64)).exits(1).reports("no entry");
        for (String malformed : List.of("xyz", "0".repeat(65), "../../etc")) {
            Cli.run("inspect", "--dir", local, malformed)
                    .exits(2)
                    .reports("is neither the first digits of an id, nor a file");
        }
    }

    @Test
    @DisplayName("inspect of a damaged entry ends with 1, reports the kind of damage, and does not"
            + " change it")
    void damaged() throws Exception {
        String id = fill(1).getFirst();
        StoredEntry stored = StoredEntry.in(Path.of(local)).getFirst();
        byte[] bytes = stored.bytes();
        bytes[bytes.length / 2] ^= 1;
        stored.overwrite(bytes);
        Cli.run("inspect", "--dir", local, id).exits(1).reports("is damaged (CORRUPT");
        Cli.run("inspect", "--dir", local, id, "--json").exits(1).reports("is damaged (CORRUPT");
    }

    @Test
    @DisplayName("Damaged statistics are replaced")
    void damagedStatistics() throws Exception {
        fill(1);
        Cli.run("stats", "--dir", local)
                .exits(0)
                .prints(
                        "entries    1",
                        "There are no counters in " + local + " yet:",
                        "not when it is killed");
        Files.write(
                Path.of(local).resolve("statistics.txt"),
                new byte[] {'1', ' ', (byte) 0xff, '\n', '!'});
        Cli.run("stats", "--dir", local).exits(0).prints("entries    1");
    }

    @Test
    @DisplayName("doctor reports each check, as text and as JSON, and ends with 1 if one fails")
    void doctor() {
        Cli text = Cli.run("doctor", "--dir", local)
                .prints("java", "opencl", "directory: " + local + ", on ", "none is configured");
        Cli.run("doctor", "--dir", directory.resolve("none").toString(), "--capacity", "0")
                .prints("directory: not used: the capacity is 0");
        assertTrue(Files.notExists(directory.resolve("none")));
        JsonObject json =
                Cli.run("doctor", "--dir", local, "--json").exits(text.status()).json();
        assertEquals(text.status() == 0, json.get("healthy").getAsBoolean());
        Cli.run(
                        "doctor",
                        "--dir",
                        local,
                        "--bucket",
                        "s3://granary-test",
                        "--endpoint",
                        "http://127.0.0.1:1")
                .exits(1)
                .prints("PROBLEM  bucket", "->");
        Cli.run(
                        "doctor",
                        "--dir",
                        local,
                        "--bucket",
                        "s3://team",
                        "--bucket",
                        "s3://company?access=read",
                        "--endpoint",
                        "http://127.0.0.1:1")
                .exits(1)
                .prints(
                        "PROBLEM  bucket s3://team at",
                        "PROBLEM  bucket s3://company at http://127.0.0.1:1, read-only:");
    }

    @Test
    @DisplayName("If a bucket does not answer, ls ends with 1 and one line")
    void unreachableBucket() {
        Cli result = Cli.run("ls", "s3://granary-test", "--endpoint", "http://127.0.0.1:1");
        result.exits(1).reports("cannot be listed");
        assertEquals(1, result.err().lines().count(), result.err());
    }

    @Test
    @DisplayName("if a bucket does not answer, warm and compact end with 1 and one line; with"
            + " --json the object reports it")
    void unreachableBucketOfPacks() {
        for (String command : List.of("warm", "compact")) {
            String[] arguments = {
                command,
                command.equals("warm") ? "--bucket=s3://granary-test" : "s3://granary-test",
                "--dir",
                local,
                "--endpoint",
                "http://127.0.0.1:1",
                "--target",
                "opencl/x"
            };
            Cli result = Cli.run(arguments)
                    .exits(1)
                    .reports("granary: ", "s3://granary-test at http://127.0.0.1:1");
            assertEquals(
                    List.of(1L, 0L),
                    List.of(result.err().lines().count(), result.out().lines().count()),
                    result::toString);
            String[] json =
                    Stream.concat(Stream.of(arguments), Stream.of("--json")).toArray(String[]::new);
            assertEquals(false, Cli.run(json).exits(1).json().get("healthy").getAsBoolean());
        }
    }

    @Test
    @DisplayName("As a process: the exit code is the command's, and JSON is all that is on standard"
            + " output")
    void process() throws Exception {
        fill(2);
        assertEquals(
                2,
                process("ls", "--dir", local, "--json")
                        .json()
                        .getAsJsonArray("entries")
                        .size());
        process("conquer").exits(2).reports("conquer");
    }

    @ParameterizedTest
    @ValueSource(strings = {"--version", "--help", "ls --json"})
    @DisplayName("output that a full disk does not take is a failure")
    void fullDisk(String command, @TempDir Path directory) throws Exception {
        assumeTrue(Files.exists(Path.of("/dev/full")));
        List<String> words = new ArrayList<>(List.of("sh", "-c", "exec \"$@\" > /dev/full", "sh"));
        words.addAll(ChildJvm.of(Main.class).shortLived().words(command.split(" ")));
        ProcessBuilder builder = new ProcessBuilder(words);
        builder.environment()
                .putAll(Map.of(
                        "XDG_CACHE_HOME", directory.toString(),
                        "GRANARY_BUCKET", "",
                        "GRANARY_CONFIG", ""));
        Process process = builder.start();
        String errors = new String(process.getErrorStream().readAllBytes(), UTF_8);
        assertEquals(1, process.waitFor(), errors);
        assertTrue(errors.contains("granary: the output could not be written"), errors);
    }

    private static Cli process(String... arguments) throws IOException, InterruptedException {
        return Cli.of(ChildJvm.of(Main.class)
                .shortLived()
                .variables(Map.of("GRANARY_BUCKET", "", "GRANARY_CONFIG", ""))
                .run(arguments));
    }
}
