package dev.granary.cli.entry;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;

import dev.granary.cache.Backend;
import dev.granary.cache.Entry;
import dev.granary.cache.EntryMetadata;
import dev.granary.cache.Id;
import dev.granary.cache.KernelBinaries;
import dev.granary.cache.Target;
import dev.granary.cache.format.EntryFormat;
import dev.granary.cache.format.EntryFormat.Compression;
import dev.granary.cli.Cli;
import dev.granary.gpu.opencl.OpenCl;
import dev.granary.local.ClaimResult;
import dev.granary.local.LocalClaims;
import dev.granary.local.LocalTier;
import dev.granary.local.LocalTierConfig;
import dev.granary.s3.embedded.EmbeddedS3;

import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;

/**
 * Tests of {@code inspect} with one id: what it prints. What it finds is compared with lookups
 * elsewhere.
 */
class InspectTest {
    private static final String SOURCE = "kernel void add(global int *a) { a[0] += STEP; }\n";

    private final Path directory;
    private final Path local;

    InspectTest(@TempDir Path directory) {
        this.directory = directory;
        this.local = directory.resolve("local");
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

    private static Id moduleId(String driver, String digest) {
        return Id.builder(new Target(Backend.OPENCL, "nvidia", "Device sm 7.0", driver))
                .field("kind", "kernel-spirv")
                .field("spirv", digest)
                .build();
    }

    private void store(String binary, Id... ids) throws Exception {
        try (LocalTier tier = LocalTier.open(LocalTierConfig.builder(local).build())) {
            for (Id id : ids) {
                tier.store(Entry.of(
                        id,
                        KernelBinaries.of(binary.getBytes(StandardCharsets.US_ASCII)),
                        Duration.ofMillis(1234),
                        new EntryMetadata(
                                "0.1",
                                "host\u001b[31m/1",
                                Instant.EPOCH,
                                List.of(kernel(id)),
                                List.of(),
                                "key")));
            }
        }
    }

    private static String kernel(Id id) {
        return id.fields().stream()
                .filter(field -> field.name().equals("source"))
                .map(field -> field.text().replaceAll("(?s).*void (\\w+)\\(.*", "$1"))
                .findFirst()
                .orElse("module");
    }

    /** Writes an entry as a file, which needs no device. */
    private String file(Id id) throws Exception {
        Entry entry = Entry.of(
                id,
                KernelBinaries.of(new byte[] {1}),
                Duration.ZERO,
                new EntryMetadata("0.1", "host/1", Instant.EPOCH, List.of(), List.of(), ""));
        return Files.write(directory.resolve("key"), EntryFormat.encode(entry, Compression.NONE))
                .toString();
    }

    private Cli inspect(Object... arguments) {
        List<String> all = new ArrayList<>(List.of("inspect", "--dir", local.toString()));
        for (Object argument : arguments) {
            all.add(argument.toString());
        }
        return Cli.run(all.toArray(String[]::new));
    }

    /** Returns the output with each run of white space as one blank. */
    private static String flat(Cli result) {
        return result.isNarrow().out().replaceAll("\\s+", " ");
    }

    private static void assertContains(String text, String... parts) {
        for (String part : parts) {
            assertTrue(text.contains(part), () -> "'" + part + "' is not in: " + text);
        }
    }

    @Test
    @DisplayName("a hit shows id, key, checks, container and outcome, in 80 columns")
    void hit() throws Exception {
        Id id = id("535.1", SOURCE, "-DSTEP=1");
        store(".version 8.0\n.target sm_70\n", id);
        Cli result = inspect(id.hash().hex().substring(0, 10)).exits(0);
        assertContains(
                flat(result),
                "id " + id.hash(),
                "device Device sm 7.0",
                "driver 535.1",
                "option -DSTEP=1",
                "target opencl/nvidia",
                "local hit: ",
                "intact",
                "local restored",
                "outcome a lookup restores the entry of the local tier",
                "compatible yes: NVIDIA PTX 8.0 for sm_70",
                "compiled 1,234 ms",
                "made by host");
        assertFalse(result.out().contains("\u001b"), "no control character of another machine");
        assertFalse(result.out().contains("nearest"), result::toString);
        JsonObject json = inspect(id.hash(), "--json").exits(0).json();
        assertEquals(
                "a lookup restores the entry of the local tier",
                json.get("outcome").getAsString());
        assertEquals(
                List.of("load local hit", "restore local restored"),
                json.getAsJsonArray("steps").asList().stream()
                        .map(JsonElement::getAsJsonObject)
                        .map(step -> step.get("step").getAsString() + " "
                                + step.get("tier").getAsString() + " "
                                + step.get("outcome").getAsString())
                        .toList());
        assertEquals("compatible", json.get("compatibility").getAsString());
        assertEquals(7, json.getAsJsonArray("key").size());
        assertFalse(json.has("nearest"));
    }

    @Test
    @DisplayName("a miss names the nearest entry of the same kernel, and what differs")
    void nearest() throws Exception {
        Id wanted = id("535.1", SOURCE, "-DSTEP=1", "-cl-mad-enable");
        Id otherDriver = id("550.7", SOURCE, "-DSTEP=1", "-cl-mad-enable");
        store(
                "x",
                id("550.7", SOURCE, "-DSTEP=2", "-cl-mad-enable"),
                otherDriver,
                id("535.1", "kernel void sub() {}", "-DSTEP=1", "-cl-mad-enable"),
                id("535.1", SOURCE, "-DSTEP=3"));
        assertContains(
                flat(inspect(file(wanted)).exits(0)),
                "local absent",
                "outcome a lookup compiles: no tier has an entry that it may use",
                "nearest " + otherDriver.hash() + " in " + local,
                "driver 535.1 550.7");
        JsonObject json = inspect(file(wanted), "--json").exits(0).json();
        assertEquals(otherDriver.hash().hex(), json.get("nearest").getAsString());
        assertEquals(
                List.of("driver"),
                json.getAsJsonArray("differences").asList().stream()
                        .map(JsonElement::getAsJsonObject)
                        .map(difference -> difference.get("field").getAsString())
                        .toList());
        assertContains(
                flat(inspect(file(id("535.1", "kernel void sub2() {}"))).exits(0)),
                "nearest no entry of the same kernel");
    }

    @Test
    @DisplayName("a changed source finds the entry of its kernel by the kernel's name")
    void changedSource() throws Exception {
        Id stored = id("535.1", SOURCE);
        store("x", stored);
        assertContains(
                flat(inspect(file(id("535.1", SOURCE.replace("+=", "-=")))).exits(0)),
                "nearest " + stored.hash(),
                "source ... { a[0] -= STEP; } ... { a[0] += STEP; }");
    }

    @Test
    @DisplayName("an entry of the same module of SPIR-V is the nearest")
    void sameModule() throws Exception {
        Id stored = moduleId("550.7", "a".repeat(64));
        store("x", moduleId("535.1", "b".repeat(64)), stored);
        assertContains(
                flat(inspect(file(moduleId("535.1", "a".repeat(64)))).exits(0)),
                "nearest " + stored.hash(),
                "driver 535.1 550.7");
    }

    @Test
    @DisplayName("a claim is shown, and the wait for it")
    void claim() throws Exception {
        Id id = id("535.1", SOURCE);
        Files.createDirectories(local);
        try (LocalClaims claims = LocalClaims.open(local)) {
            assertTrue(claims.claim(id) instanceof ClaimResult.Mine);
            assertContains(
                    flat(inspect(file(id)).exits(0)),
                    "claim another process is compiling or storing it",
                    "outcome a lookup waits for the other process, at most 60.0 s; otherwise a"
                            + " lookup compiles: no tier");
            JsonObject json = inspect(file(id), "--json").exits(0).json();
            assertEquals(60_000, json.get("waitLimitMillis").getAsInt());
        }
    }

    @Test
    @DisplayName("a kernel of a manifest on PoCL: without a directory, which is not created, in"
            + " a bucket, on the disk; not cacheable")
    void manifest() throws Exception {
        Assumptions.assumeFalse(OpenCl.devices().isEmpty(), "no OpenCL device");
        Files.writeString(directory.resolve("add.cl"), SOURCE);
        Files.writeString(
                directory.resolve("dated.cl"), "constant char d[] = __DATE__; kernel void k() {}");
        String manifest =
                Files.writeString(directory.resolve("kernels.toml"), """
                [[kernel]]
                name = "add"
                source = "add.cl"
                options = "-DSTEP=1"
                geometry = { global = [64], local = [64] }

                [[kernel]]
                name = "dated"
                source = "dated.cl"
                """).toString();
        assertContains(
                flat(inspect(manifest + "#add").exits(0)),
                "launch *@64/64",
                "local absent",
                "outcome a lookup compiles",
                "nearest no entry of the same kernel");
        assertFalse(Files.exists(local), "it changes nothing");
        assertContains(
                flat(inspect(manifest + "#dated").exits(0)),
                "outcome a lookup compiles: the kernel is not cacheable: the source uses __DATE__");
        assertTrue(
                inspect(manifest + "#dated", "--json").exits(0).json().get("id").isJsonNull());
        try (EmbeddedS3 s3 = EmbeddedS3.start(null)) {
            s3.createBucket("kernels");
            System.setProperty("aws.accessKeyId", s3.accessKey());
            System.setProperty("aws.secretAccessKey", s3.secretKey());
            List<String> bucket = List.of(
                    "--bucket", "s3://kernels/ci", "--endpoint", s3.endpoint().toString());
            Cli.run(with(bucket, "get", manifest, "--dir", directory + "/ci"));
            long writes = s3.requests().put() + s3.requests().delete();
            assertContains(
                    flat(inspect((Object[]) with(bucket, manifest + "#add")).exits(0)),
                    "bucket s3://kernels/ci at " + s3.endpoint() + ": hit: ",
                    "compatible yes: PoCL binary",
                    "outcome a lookup restores the entry of s3://kernels/ci",
                    "and stores it in the local tier");
            assertFalse(Files.exists(local), "it changes nothing");
            assertEquals(writes, s3.requests().put() + s3.requests().delete());
            Cli.run(with(bucket, "get", manifest, "--dir", local.toString())).exits(0);
            assertContains(
                    flat(inspect((Object[]) with(bucket, manifest + "#add")).exits(0)),
                    "local hit: ",
                    "outcome a lookup restores the entry of the local tier");
        } finally {
            System.clearProperty("aws.accessKeyId");
            System.clearProperty("aws.secretAccessKey");
        }
        assertContains(
                flat(Cli.run(
                                "inspect",
                                manifest + "#add",
                                "--dir",
                                local + "2",
                                "--bucket",
                                "s3://kernels/ci",
                                "--endpoint",
                                "http://127.0.0.1:1")
                        .exits(0)),
                "unavailable, a miss: 127.0.0.1:1 refuses the connection",
                "no credentials were found",
                "outcome a lookup compiles");
    }

    private static String[] with(List<String> options, String... arguments) {
        List<String> all = new ArrayList<>(List.of(arguments));
        all.addAll(options);
        return all.toArray(String[]::new);
    }

    @Test
    @DisplayName("an unknown form is a wrong use, an unknown id a failure")
    void mistakes() throws Exception {
        inspect("ffffffff").exits(1).reports("there is no " + local);
        assertFalse(Files.exists(local), "it changes nothing");
        Path noDirectory = Files.createFile(directory.resolve("file"));
        Cli.run("inspect", file(id("535.1", SOURCE)), "--dir", noDirectory.toString())
                .exits(0)
                .prints("a lookup compiles: no tier has an entry that it may use");
        store("x", id("535.1", SOURCE));
        inspect("nonsense").exits(2).reports("is neither the first digits of an id");
        inspect().exits(2).reports("Missing required parameter");
        inspect("ffffffff").exits(1).reports("has an id that begins with ffffffff");
        inspect(directory + "/none.toml#add").exits(2);
        inspect(file(id("535.1", SOURCE)), "--device", "abacus").exits(2);
    }

    @Test
    @DisplayName("--binary writes the driver's binary of the entry; without an entry it fails")
    void binary() throws Exception {
        Id id = id("535.1", SOURCE);
        store("the driver's bytes", id);
        Path file = directory.resolve("binary");
        inspect(id.hash(), "--binary", file).exits(0);
        assertEquals("the driver's bytes", Files.readString(file));
        Path key = directory.resolve("key.bin");
        Files.write(key, id("535.2", SOURCE).bytes());
        inspect(key, "--binary", directory.resolve("none"))
                .exits(1)
                .reports("no tier has an entry");
        inspect(id.hash(), "--binary", directory).exits(1).reports("cannot be written");
    }

    @Test
    @DisplayName("the file of an entry is shown, and its binary is written, not those of the tier"
            + " with this id; a damaged file fails although the tier's entry is sound")
    void ownFile() throws Exception {
        Id id = id("535.1", SOURCE);
        store("the tier's bytes", id);
        Path file = Path.of(file(id));
        Path binary = directory.resolve("binary");
        assertContains(
                flat(inspect(file, "--binary", binary).exits(0)), "local hit: ", "binaries 1, 1 B");
        assertArrayEquals(new byte[] {1}, Files.readAllBytes(binary));
        byte[] stored = Files.readAllBytes(file);
        stored[stored.length - 1] ^= 1;
        Files.write(file, stored);
        Cli damaged = inspect(file, "--binary", directory.resolve("none"))
                .exits(1)
                .reports(file + " is damaged (CORRUPT: ");
        assertEquals("", damaged.out());
        assertFalse(Files.exists(directory.resolve("none")));
    }

    @Test
    @DisplayName("An entry is found by its digits in the directory, else in the buckets; a bucket"
            + " behind a hit is not needed; a miss finds the nearest entry of a bucket")
    void tiers() throws Exception {
        Id id = id("535.1", SOURCE);
        store("x", id);
        try (EmbeddedS3 s3 = EmbeddedS3.start(null)) {
            s3.createBucket("kernels");
            System.setProperty("aws.accessKeyId", s3.accessKey());
            System.setProperty("aws.secretAccessKey", s3.secretKey());
            List<String> bucket = List.of(
                    "--bucket", "s3://kernels/ci", "--endpoint", s3.endpoint().toString());
            Cli.run(
                            "copy",
                            local.toString(),
                            "s3://kernels/ci",
                            "--endpoint",
                            s3.endpoint().toString())
                    .exits(0);
            String digits = id.hash().hex().substring(0, 8);
            assertContains(
                    flat(inspect((Object[]) with(bucket, digits)).exits(0)),
                    "local hit: ",
                    "bucket s3://kernels/ci at " + s3.endpoint() + ": not needed");
            String[] elsewhere = with(bucket, "inspect", digits, "--dir", local + "2");
            assertContains(
                    flat(Cli.run(elsewhere).exits(0)),
                    "local absent",
                    "outcome a lookup restores the entry of s3://kernels/ci");
            String miss = file(id("550.7", SOURCE));
            assertContains(
                    flat(Cli.run(with(bucket, "inspect", miss, "--dir", local + "2"))
                            .exits(0)),
                    "outcome a lookup compiles",
                    "nearest " + id.hash() + " in s3://kernels/ci",
                    "driver 550.7 535.1");
        } finally {
            System.clearProperty("aws.accessKeyId");
            System.clearProperty("aws.secretAccessKey");
        }
    }
}
