package dev.granary.cli.entry;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;

import dev.granary.cache.Entry;
import dev.granary.cache.Id;
import dev.granary.cache.KernelBinaries;
import dev.granary.cache.Sha256;
import dev.granary.cache.contract.StoredEntry;
import dev.granary.cache.contract.TestEntries;
import dev.granary.cache.format.EntryFormat;
import dev.granary.cache.format.EntryFormat.Compression;
import dev.granary.cli.Cli;
import dev.granary.coordinator.Granary;
import dev.granary.coordinator.config.GranaryConfig;
import dev.granary.gpu.Geometry;
import dev.granary.gpu.KernelDescriptor;
import dev.granary.gpu.opencl.OpenCl;
import dev.granary.gpu.opencl.OpenClEngine;
import dev.granary.local.LocalTier;
import dev.granary.local.LocalTierConfig;
import dev.granary.s3.embedded.EmbeddedS3;

import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.UUID;

/** Tests of {@code inspect} with two ids, and of {@code inspect --key}. */
class InspectTwoTest {
    private static final String SOURCE = """
            kernel void add(global int *a) {
                a[0] += STEP;
            }
            """;

    private final Path directory;
    private final Path local;

    InspectTwoTest(@TempDir Path directory) {
        this.directory = directory;
        this.local = directory.resolve("local");
    }

    private static Id.Builder key(String source) {
        return Id.builder(TestEntries.TARGET)
                .field("kind", "kernel-source")
                .field("source", source);
    }

    private static Id one() {
        return key(SOURCE)
                .field("header", "math.clh")
                .field("sha256", Sha256.of(new byte[] {1}).bytes())
                .field("option", "-DSTEP=1")
                .field("option", "-cl-mad-enable")
                .field("launch", "add@1024/64")
                .field("environment", "POCL_A")
                .field("value", "1")
                .build();
    }

    private static Id other() {
        return key(SOURCE.replace("+=", "-="))
                .field("header", "math.clh")
                .field("sha256", Sha256.of(new byte[] {2}).bytes())
                .field("option", "-cl-mad-enable")
                .field("option", "-DSTEP=1")
                .field("launch", "*@1024/64")
                .field("tag", "\u001b[31mred")
                .build();
    }

    private void store(Id... ids) throws Exception {
        try (LocalTier tier = LocalTier.open(
                LocalTierConfig.builder(local).background(Runnable::run).build())) {
            for (Id id : ids) {
                tier.store(TestEntries.entry(id, KernelBinaries.of(new byte[100])));
            }
        }
    }

    private Cli diff(Object... arguments) {
        List<String> all = new ArrayList<>(List.of("inspect", "--dir", local.toString()));
        for (Object argument : arguments) {
            all.add(argument.toString());
        }
        return Cli.run(all.toArray(String[]::new));
    }

    private static List<String> rows(Cli result) {
        return result.out()
                .lines()
                .skip(3)
                .map(line -> line.replaceAll(" {2,}", "|"))
                .toList();
    }

    @Test
    @DisplayName("inspect of two entries names each field that differs, with the part that differs")
    void table() throws Exception {
        store(one(), other());
        Cli result = diff(
                        one().hash().hex().substring(0, 12),
                        other().hash().hex().substring(0, 12))
                .exits(0)
                .prints("A          " + one().hash(), "B          " + other().hash())
                .isNarrow();
        assertEquals(
                List.of(
                        "source|line 2:|a[0] += STEP;|line 2:|a[0] -= STEP;",
                        "header math.clh|" + start(new byte[] {1}) + "|" + start(new byte[] {2}),
                        "option|-DSTEP=1|-cl-mad-enable|-cl-mad-enable|-DSTEP=1",
                        "launch|add@1024/64|*@1024/64",
                        "environment POCL_A|1|-",
                        "tag|-|?[31mred"),
                rows(result),
                result::toString);
    }

    @Test
    @DisplayName("inspect of a long line shows the part around the difference, in 80 columns")
    void longLine() throws Exception {
        Id a = key("x".repeat(100) + "\n" + "y".repeat(300) + "A" + "z".repeat(100))
                .build();
        Id b = key("x".repeat(100) + "\n" + "y".repeat(300) + "B" + "z".repeat(100))
                .build();
        Id c = key("x".repeat(100) + "\n" + "y".repeat(300) + "\ud83d\ude00").build();
        Id d = key("x".repeat(100) + "\n" + "y".repeat(300) + "\ud83d\ude01").build();
        store(a, b, c, d);
        assertEquals(
                List.of("source|line 2: ...yyyyyyyyAzzz...|line 2: ...yyyyyyyyBzzz..."),
                rows(diff(a.hash(), b.hash()).exits(0).isNarrow()));
        assertEquals(
                List.of("source|line 2: ...yyyyyyy\ud83d\ude00|line 2: ...yyyyyyy\ud83d\ude01"),
                rows(diff(c.hash(), d.hash()).exits(0).isNarrow()));
    }

    private static String start(byte[] content) {
        return Sha256.of(content).hex().substring(0, 23) + "...";
    }

    @Test
    @DisplayName("inspect --json has all values of each field that differs")
    void json() throws Exception {
        store(one(), other());
        JsonObject result =
                diff(one().hash(), other().hash(), "--json").exits(0).json();
        assertEquals(one().hash().hex(), result.get("a").getAsString());
        assertEquals(other().hash().hex(), result.get("b").getAsString());
        assertFalse(result.get("equal").getAsBoolean());
        List<String> fields = new ArrayList<>();
        for (JsonElement difference : result.getAsJsonArray("differences")) {
            fields.add(difference.getAsJsonObject().get("field").getAsString());
        }
        assertEquals(
                List.of(
                        "source",
                        "header math.clh",
                        "option",
                        "launch",
                        "environment POCL_A",
                        "tag"),
                fields);
        JsonObject source = result.getAsJsonArray("differences").get(0).getAsJsonObject();
        assertEquals(SOURCE, source.getAsJsonArray("a").get(0).getAsString());
        JsonObject options = result.getAsJsonArray("differences").get(2).getAsJsonObject();
        assertEquals("[\"-DSTEP=1\",\"-cl-mad-enable\"]", options.get("a").toString());
        JsonObject equal = diff(one().hash(), one().hash(), "--json").exits(0).json();
        assertTrue(equal.get("equal").getAsBoolean());
        assertTrue(equal.getAsJsonArray("differences").isEmpty());
        diff(one().hash(), one().hash()).exits(0).prints("The ids are equal.");
    }

    @Test
    @DisplayName(
            "inspect reads the file of an entry, of a bucket or of a directory, and an entry in a"
                    + " bucket")
    void files() throws Exception {
        Entry entry = TestEntries.entry(one(), KernelBinaries.of(new byte[100]));
        Path file = Files.write(
                directory.resolve("entry"),
                EntryFormat.encode(entry, Compression.NONE, new UUID(1, 2)));
        store(other());
        diff(file, StoredEntry.in(local).getFirst().file())
                .exits(0)
                .prints("A          " + one().hash(), "B          " + other().hash(), "tag");
        try (EmbeddedS3 s3 = EmbeddedS3.start(null)) {
            s3.createBucket("kernels");
            System.setProperty("aws.accessKeyId", s3.accessKey());
            System.setProperty("aws.secretAccessKey", s3.secretKey());
            GranaryConfig config = GranaryConfig.builder()
                    .environment(Map.of("XDG_CONFIG_HOME", directory + "-none"))
                    .directory(local)
                    .bucket("s3://kernels/ci")
                    .endpoint(s3.endpoint().toString())
                    .build();
            try (Granary granary = Granary.open(config)) {
                granary.publish(other());
                assertTrue(granary.flush(Duration.ofSeconds(30)));
            }
            diff(other().hash(), file, "--bucket", "s3://kernels/ci", "--endpoint", s3.endpoint())
                    .exits(0)
                    .prints("A          " + other().hash(), "launch");
        }
    }

    @Test
    @DisplayName("diff of two kernels of manifests, and of an entry that a program stored")
    void manifests() throws Exception {
        Assumptions.assumeFalse(OpenCl.devices().isEmpty(), "no OpenCL device");
        Files.writeString(directory.resolve("add.cl"), SOURCE);
        Path manifest = Files.writeString(directory.resolve("k#1.toml"), """
                [[kernel]]
                name = "a#b"
                source = "add.cl"
                options = "-DSTEP=1"
                geometry = { global = [1024], local = [64] }

                [[kernel]]
                name = "two"
                source = "add.cl"
                options = "-DSTEP=2"
                launch = [{ kernel = "add", global = [1024], local = [64] }]

                [[kernel]]
                name = "lost"
                source = "lost.cl"

                [[kernel]]
                name = "dated"
                source = "dated.cl"
                """);
        Files.writeString(
                directory.resolve("dated.cl"), "constant char d[] = __DATE__; kernel void k() {}");
        KernelDescriptor code;
        try (OpenClEngine engine = OpenClEngine.open(OpenCl.devices().getFirst())) {
            code = KernelDescriptor.builder(engine.target(), "code")
                    .source(SOURCE)
                    .options("-DSTEP=2")
                    .launch("add", Geometry.of(1024).local(64))
                    .build();
        }
        store(code.getId());
        diff(code.getId().hash(), manifest + "#two").exits(0).prints("The ids are equal.");
        Cli different = diff(manifest + "#a#b", code.getId().hash()).exits(0).isNarrow();
        List<String> expected = new ArrayList<>(List.of("option|-DSTEP=1|-DSTEP=2"));
        if (!code.launches().isEmpty()) {
            expected.add("launch|*@1024/64|add@1024/64");
        }
        assertEquals(expected, rows(different), different::toString);
        diff(manifest + "#three", manifest + "#two")
                .exits(2)
                .reports("has no kernel 'three'; its kernels are: a#..., two, lost, dated");
        diff(manifest + "#lost", manifest + "#two").exits(1).reports("lost: there is no file");
        diff(manifest + "#dated", manifest + "#two")
                .exits(1)
                .reports("dated is not cacheable, so it has no id: ", "__DATE__");
        diff(manifest + "#two", manifest + "#two", "--device", "abacus")
                .exits(2)
                .reports("no device name contains 'abacus'");
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "2|nothing/here 00|is neither the first digits of an id, nor a file",
                "2|kernels.toml#k 00|cannot be read: there is no such file",
                "2|00 00 00|Unmatched argument",
                "1|00 00|no entry of",
                "1|%TEXT% 00|is neither an entry nor the key of one",
                "1|%EMPTY% 00|is neither an entry nor the key of one",
                "1|%DIR% 00|is not a file with an entry",
                "1|/dev/zero 00|is not a file with an entry",
                "2|%TEXT%#k 00|this is not TOML"
            })
    @DisplayName("A wrong argument of inspect ends with 2, an id that cannot be read with 1")
    void errors(int status, String arguments, String message) throws Exception {
        store(one());
        Path text = Files.writeString(directory.resolve("text"), "not an entry");
        Path empty = Files.write(directory.resolve("empty"), new byte[0]);
        Object[] all = arguments
                .replace("%TEXT%", text.toString())
                .replace("%EMPTY%", empty.toString())
                .replace("%DIR%", directory.toString())
                .split(" ");
        Cli result = diff(all).exits(status).reports(message);
        assertEquals("", result.out());
    }

    @Test
    @DisplayName("inspect --key prints all fields of the key in full, without control characters")
    void inspectKey() throws Exception {
        Id.Builder many = key(SOURCE + "// \u001b[31m\n");
        for (int i = 0; i < 40; i++) {
            many.field("option", "-DX" + i + "=" + "y".repeat(60));
        }
        Id id = many.field("header", "h")
                .field("sha256", Sha256.of(new byte[] {1}).bytes())
                .build();
        store(id);
        Cli result = Cli.run(
                        "inspect", "--dir", local.toString(), "--key", id.hash().hex())
                .exits(0);
        List<String> lines = result.out().lines().toList();
        assertEquals("backend: opencl", lines.getFirst());
        assertEquals(
                List.of(
                        "kind: kernel-source",
                        "source:",
                        "    kernel void add(global int *a) {",
                        "        a[0] += STEP;",
                        "    }",
                        "    // ?[31m",
                        "option: -DX0=" + "y".repeat(60)),
                lines.subList(4, 11));
        assertEquals("sha256: " + Sha256.of(new byte[] {1}).hex(), lines.getLast());
        assertEquals(4 + 6 + 40 + 2, lines.size());
        Cli.run("inspect", "--dir", local.toString(), id.hash().hex())
                .exits(0)
                .prints("more fields of the key; --key shows all");
    }
}
