package dev.granary.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static java.nio.charset.StandardCharsets.UTF_8;

import dev.granary.cache.Backend;
import dev.granary.cache.Entry;
import dev.granary.cache.EntryMetadata;
import dev.granary.cache.Id;
import dev.granary.cache.KernelBinaries;
import dev.granary.cache.Target;
import dev.granary.cache.contract.StoredEntry;
import dev.granary.cache.format.TrustPolicy;
import dev.granary.cache.support.ClaimStore.Claim;
import dev.granary.coordinator.TestFleet;
import dev.granary.coordinator.config.GranaryConfig;
import dev.granary.local.LocalTier;
import dev.granary.local.LocalTierConfig;
import dev.granary.local.SharedDirectory;
import dev.granary.s3.UseNotes.UseNote;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDate;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;

/**
 * Compares the whole output of commands that need no device with {@code golden.txt}, so that a diff
 * shows each change of words and of names in JSON. {@code -Dgranary.golden.write=FILE} writes it.
 */
class GoldenTextsTest {
    private static final String SOURCE = "kernel void add(global int *a) { a[0] += STEP; }\n";

    private final Path directory;
    private final StringBuilder golden = new StringBuilder();

    GoldenTextsTest(@TempDir Path directory) {
        this.directory = directory;
    }

    private static Id id(String driver, String source, String... options) {
        Id.Builder id = Id.builder(new Target(Backend.OPENCL, "nvidia", "Device sm 7.0", driver))
                .field("kind", "kernel-source")
                .field("source", source);
        for (String option : options) {
            id.field("option", option);
        }
        return id.build();
    }

    private static Entry entry(Id id, int bytes) {
        byte[] binary = new byte[bytes];
        byte[] text = ".version 8.0\n.target sm_70\n".getBytes(UTF_8);
        System.arraycopy(text, 0, binary, 0, text.length);
        return Entry.of(
                id,
                KernelBinaries.of(binary),
                Duration.ofMillis(1234),
                new EntryMetadata(
                        "0.1",
                        "host/1",
                        Instant.EPOCH,
                        List.of("add"),
                        List.of("add@64/64"),
                        "add of nvidia Device sm 7.0"));
    }

    private void store(String machine, int ago, Entry entry) throws Exception {
        Instant then = Instant.now().minus(Duration.ofDays(ago));
        try (LocalTier tier = LocalTier.open(LocalTierConfig.builder(directory.resolve(machine))
                .clock(() -> then)
                .background(Runnable::run)
                .build())) {
            tier.store(entry);
        }
    }

    private void run(String command, String... options) {
        for (List<String> form : List.of(List.<String>of(), List.of("--json"))) {
            List<String> all = new ArrayList<>(List.of(command.split(" ")));
            all.addAll(form);
            golden.append("$ granary ").append(String.join(" ", all)).append('\n');
            all.addAll(List.of(options));
            Cli ended = Cli.run(all.toArray(String[]::new));
            golden.append(ended.out());
            ended.err().lines().forEach(line -> golden.append("! ").append(line).append('\n'));
            golden.append("= ").append(ended.status()).append("\n\n");
        }
    }

    private static String normalized(String text, Path directory, String endpoint) {
        return text.replace(directory.toString(), "DIR")
                .replace(endpoint, "ENDPOINT")
                .replace(GranaryConfig.VERSION, "VERSION")
                .replaceAll("\\b[0-9a-f]{64}\\b", "i".repeat(64))
                .replaceAll("\\b[0-9a-f]{16}\\b", "i".repeat(16))
                .replaceAll(
                        "\\b[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}\\b", "yyyy-mm-dd hh:mm")
                .replaceAll("\"20[0-9]{2}-[0-9T:.-]*Z\"", "\"TIME\"")
                .replaceAll("\\b20[0-9]{2}-[0-9]{2}-[0-9]{2}\\b", "yyyy-mm-dd")
                .replaceAll("\"millis\": [0-9.]+", "\"millis\": 1.0")
                .replaceAll("\ntime  .*", "\ntime       1.0 ms");
    }

    @Test
    @DisplayName("the texts of the commands, and their JSON")
    void texts() throws Exception {
        Id first = id("535.1", SOURCE, "-DSTEP=1", "-cl-mad-enable");
        Id second = id("550.7", SOURCE, "-DSTEP=2", "-cl-mad-enable");
        Id third = id("535.1", "kernel void sub() {}");
        String local = directory.resolve("local").toString();
        store("local", 1, entry(first, 3000));
        store("local", 2, entry(second, 2000));
        store("local", 40, entry(third, 1000));
        run("ls", "--dir", local);
        run("ls --long --sort compile --limit 2", "--dir", local);
        run("inspect " + first.hash().hex().substring(0, 12), "--dir", local);
        run("inspect " + second.hash() + " --capacity 0", "--dir", local);
        Path shared = directory.resolve("shared");
        try (SharedDirectory left = new SharedDirectory(shared, true, TrustPolicy.OFF)) {
            left.claims()
                    .claim(
                            second,
                            new Claim(
                                    "0123456789abcdef",
                                    Duration.ofSeconds(4),
                                    Claim.State.COMPILING));
        }
        run(
                "inspect " + second.hash() + " --capacity 0",
                "--dir",
                local,
                "--bucket",
                "file://" + shared);
        run("inspect " + first.hash() + " " + second.hash(), "--dir", local);
        run("inspect " + first.hash() + " " + first.hash(), "--dir", local);
        run("stats", "--dir", local);
        run("quarantine", "--dir", local);
        run("evict --older-than 30d --dry-run", "--dir", local);
        run("evict --all", "--dir", local);
        run("verify", "--dir", local);
        for (StoredEntry stored : StoredEntry.in(Path.of(local))) {
            byte[] bytes = stored.bytes();
            if (new String(bytes, ISO_8859_1).contains("sub()")) {
                bytes[bytes.length - 1] ^= 1;
                stored.overwrite(bytes);
            }
        }
        Files.writeString(Path.of(local).resolve("v3/notes.txt"), "mine");
        run("ls --long", "--dir", local);
        run("inspect " + third.hash(), "--dir", local);
        run("verify", "--dir", local);
        run("verify --repair", "--dir", local);
        run("evict --older-than 30d", "--dir", local);
        run("evict --all --yes", "--dir", local);
        try (TestFleet fleet = new TestFleet(directory)) {
            fleet.publish(List.of(entry(first, 3000)));
            fleet.publishUnpacked(List.of(entry(second, 2000)));
            String[] bucket = {
                "--dir", directory.resolve("node").toString(),
                "--bucket", "s3://kernels/ci",
                "--endpoint", fleet.endpoint()
            };
            run("ls s3://kernels/ci --sort name", "--endpoint", fleet.endpoint());
            for (int machine = 1; machine <= 2; machine++) {
                fleet.note(new UseNote(
                        LocalDate.now(ZoneOffset.UTC),
                        "000000000000000" + machine,
                        new TreeMap<>(Map.of(first.target().path(), new long[] {1, machine})),
                        Map.of(
                                "local-hits", 30L,
                                "layer-hits", 9L,
                                "compiled", 1L,
                                "layer-unavailable", 1L,
                                "saved-millis", 123_456L)));
            }
            run("stats s3://kernels/ci", "--endpoint", fleet.endpoint());
            run("stats s3://kernels/ci --fleet", "--endpoint", fleet.endpoint());
            run("stats s3://kernels/ci --fleet --format github", "--endpoint", fleet.endpoint());
            run("inspect " + first.hash(), bucket);
            run("inspect " + first.hash() + " " + second.hash(), bucket);
            run("verify s3://kernels/ci", "--endpoint", fleet.endpoint());
            run("warm --target opencl/absent", bucket);
            run("warm --target " + first.target().path(), bucket);
            String compact =
                    "compact s3://kernels/ci --target " + first.target().path();
            String[] options = {bucket[0], bucket[1], "--endpoint", fleet.endpoint()};
            run(compact + " --dry-run", options);
            run(compact, options);
            run("collect s3://kernels/ci --budget 1KiB", options);
            run("collect s3://kernels/ci --delete", options);
            run("collect s3://kernels/ci --pins", options);
            run(
                    "copy s3://kernels/ci",
                    directory.resolve("copy").toString(),
                    "--endpoint",
                    fleet.endpoint());
            check(normalized(golden.toString(), directory, fleet.endpoint()));
        }
    }

    private static void check(String text) throws Exception {
        String file = System.getProperty("granary.golden.write");
        if (file != null) {
            Files.writeString(Path.of(file), text);
        }
        try (InputStream expected =
                Objects.requireNonNull(GoldenTextsTest.class.getResourceAsStream("golden.txt"))) {
            assertEquals(new String(expected.readAllBytes(), UTF_8), text);
        }
    }
}
