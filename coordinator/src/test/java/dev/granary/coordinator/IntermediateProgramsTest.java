package dev.granary.coordinator;

import static dev.granary.testing.CacheAssertions.assertThat;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.granary.cache.Backend;
import dev.granary.cache.Id;
import dev.granary.cache.KernelBinaries;
import dev.granary.cache.Target;
import dev.granary.cache.contract.TestEntries;
import dev.granary.coordinator.config.GranaryConfig;
import dev.granary.gpu.DriverProcess;
import dev.granary.gpu.spirv.IntermediateDescriptor;
import dev.granary.gpu.spirv.SpirvModules;
import dev.granary.gpu.tool.SpirvTool;
import dev.granary.local.LocalTier;
import dev.granary.local.LocalTierConfig;
import dev.granary.testing.ChildJvm;

import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/**
 * Tests of kept intermediate programs, on Intel's driver for simulated devices. Each lookup is in a
 * process of its own, on a machine with or without a compiler to SPIR-V.
 */
class IntermediateProgramsTest {
    private static final String TIGER_LAKE = "tgllp";
    private static final String DG1 = "dg1";
    private static final String SKYLAKE = "skl";

    @TempDir
    static Path directory;

    private static TestFleet fleet;
    private static Path empty;

    @BeforeAll
    static void start() throws Exception {
        String reason = "Intel's driver of Level Zero and a compiler to SPIR-V, on Debian: apt-get"
                + " install libze1 intel-opencl-icd";
        fleet = new TestFleet(directory.resolve("fleet"));
        empty = Files.createDirectory(directory.resolve("empty"));
        String output = new Machine("probe", TIGER_LAKE).lookup();
        assumeTrue(!output.contains("missing="), reason);
        assumeTrue(!output.contains("failure="), reason);
    }

    @AfterAll
    static void stop() {
        fleet.close();
    }

    /** A machine with a directory and a device of its own. */
    private static final class Machine {
        private final Map<String, String> variables = new HashMap<>();
        private String source = "portable";
        private boolean isInPacks;
        private boolean isExplained;

        Machine(String name, String device) {
            variables.putAll(Map.of(
                    "XDG_CONFIG_HOME", "/nonexistent",
                    "GRANARY_DIR", directory.resolve(name).toString(),
                    "GRANARY_BUCKET_WAIT", "1m",
                    "NEOReadDebugKeys", "1",
                    "SetCommandStreamReceiver", "1",
                    "ProductFamilyOverride", device,
                    "NEO_CACHE_PERSISTENT", "0"));
        }

        Machine bucket(String prefix) {
            variables.putAll(Map.of(
                    "GRANARY_BUCKET", "s3://kernels/" + prefix,
                    "GRANARY_S3_ENDPOINT", fleet.endpoint(),
                    "AWS_ACCESS_KEY_ID", fleet.server.accessKey(),
                    "AWS_SECRET_ACCESS_KEY", fleet.server.secretKey(),
                    "AWS_REGION", "us-east-1"));
            return this;
        }

        /** Selects the search path of compilers. */
        Machine path(String path) {
            variables.put("PATH", path);
            return this;
        }

        /** Sets the environment variable by which clang would find other headers. */
        Machine headers(Path path) {
            variables.put("CPATH", path.toString());
            return this;
        }

        Machine withoutCompiler() {
            return path(empty.toString());
        }

        Machine source(String kind) {
            source = kind;
            return this;
        }

        Machine inPacks(boolean isOn) {
            isInPacks = isOn;
            return this;
        }

        String lookup() throws Exception {
            return run().output();
        }

        /** Explains where the SPIR-V comes from, then looks up. */
        String explainedLookup() throws Exception {
            isExplained = true;
            return run().output();
        }

        ChildJvm.Result run() throws Exception {
            return DriverProcess.of(
                            IntermediateProcess.class,
                            Files.createTempDirectory(directory, "process"))
                    .withoutVariables("GRANARY_", "AWS_")
                    .variables(variables)
                    .run(source, "" + isInPacks, "" + isExplained);
        }
    }

    private static String value(String output, String name) {
        return DriverProcess.value(output, name);
    }

    private static void assertCounts(String output, int hits, int compiled) {
        assertEquals("" + hits, value(output, "count intermediate-hits"), output);
        assertEquals("" + compiled, value(output, "count intermediate-compiled"), output);
    }

    @Test
    @DisplayName("a machine without a compiler to SPIR-V builds for its own device from the"
            + " program that another machine has published; the binary is the same as with one")
    void withoutCompiler() throws Exception {
        withoutCompiler(false);
    }

    @Test
    @Tag("exhaustive")
    @DisplayName("the same with a pack")
    void withoutCompilerFromPack() throws Exception {
        withoutCompiler(true);
    }

    private static void withoutCompiler(boolean isInPacks) throws Exception {
        String mode = isInPacks ? "packs" : "unpacked";
        String prefix = "fleet-" + mode;
        String ci = new Machine("ci-" + mode, TIGER_LAKE)
                .bucket(prefix)
                .inPacks(isInPacks)
                .lookup();
        assertEquals("COMPILED", value(ci, "source"));
        assertCounts(ci, 0, 1);
        String node = new Machine("node-" + mode, DG1)
                .bucket(prefix)
                .withoutCompiler()
                .lookup();
        assertEquals("COMPILED", value(node, "source"));
        assertEquals("[scale]", value(node, "kernels"));
        assertCounts(node, 1, 0);
        assertEquals("1", value(node, "count compiled"));
        assertNotEquals(value(ci, "target"), value(node, "target"));
        String alone = new Machine("alone-" + mode, DG1).lookup();
        assertEquals(value(alone, "binary"), value(node, "binary"));
        // the node's own directory has the program now
        String other = new Machine("node-" + mode, SKYLAKE).withoutCompiler().lookup();
        assertCounts(other, 1, 0);
        System.out.println("first lookups of new processes: front end and driver "
                + value(ci, "micros") + " us, driver only " + value(node, "micros")
                + " us, from disk " + value(other, "micros") + " us");
    }

    @Test
    @DisplayName("without a compiler and without an intermediate program, the message"
            + " names the packages to install; the lookup costs four requests: head, entry, claim,"
            + " failure")
    void missing() throws Exception {
        String output =
                new Machine("bare", TIGER_LAKE).bucket("bare").withoutCompiler().lookup();
        assertTrue(
                value(output, "failure")
                        .contains(
                                "no compiler from OpenCL C to SPIR-V is on the PATH; install one"),
                output);
        assertTrue(value(output, "failure").contains("apt-get install intel-opencl-icd"), output);
        assertCounts(output, 0, 0);
        assertEquals("1", value(output, "count compile-failures"));
        // for each id: head, entry, the claim, and that its compile has failed
        assertEquals("8", value(output, "count bucket-requests"), output);
        assertEquals("2", value(output, "count layer-lookups"), output);
    }

    @Test
    @Tag("exhaustive")
    @DisplayName("the explanation of an intermediate program is what the lookup after it"
            + " does: compiled, from disk, from a bucket, or a failure")
    void explained() throws Exception {
        String ci = new Machine("ex-ci", TIGER_LAKE).bucket("explained").explainedLookup();
        assertEquals("compiled", value(ci, "explained"), ci);
        assertCounts(ci, 0, 1);
        String disk = new Machine("ex-ci", SKYLAKE).bucket("explained").explainedLookup();
        assertEquals("stored in local", value(disk, "explained"), disk);
        assertCounts(disk, 1, 0);
        String node = new Machine("ex-node", DG1)
                .bucket("explained")
                .withoutCompiler()
                .explainedLookup();
        assertTrue(
                value(node, "explained").startsWith("stored in s3://kernels/explained at "), node);
        assertCounts(node, 1, 0);
        String bare = new Machine("ex-bare", DG1).withoutCompiler().explainedLookup();
        assertEquals("missing", value(bare, "explained"));
        assertTrue(bare.contains("failure="), bare);
    }

    @Test
    @Tag("exhaustive")
    @DisplayName("a source that means another thing on another device has a program for each")
    void ofDevice() throws Exception {
        Machine first = new Machine("device", TIGER_LAKE).source("device");
        String compiled = first.lookup();
        assertCounts(compiled, 0, 1);
        String other = new Machine("device", SKYLAKE).source("device").lookup();
        assertCounts(other, 0, 1);
        assertNotEquals(value(compiled, "intermediate"), value(other, "intermediate"));
        String bare =
                new Machine("device", DG1).source("device").withoutCompiler().lookup();
        assertTrue(bare.contains("failure="), bare);
    }

    /** Returns the id of the first intermediate program, which no device is part of. */
    private static Id id() {
        return IntermediateDescriptor.of(IntermediateProcess.kernel(
                        new Target(Backend.LEVEL_ZERO, "intel", "GPU id 0x1", "1"),
                        IntermediateProcess.PORTABLE))
                .getId();
    }

    private static LocalTier tier(String machine) throws Exception {
        return LocalTier.open(
                LocalTierConfig.builder(directory.resolve(machine)).build());
    }

    private static List<byte[]> kept(String machine) throws Exception {
        try (LocalTier tier = tier(machine)) {
            return assertThat(tier.load(id())).isHit().binaries().toByteArrays();
        }
    }

    private static void keep(String machine, byte[]... binaries) throws Exception {
        try (LocalTier tier = tier(machine)) {
            assertThat(tier.store(TestEntries.entry(id(), KernelBinaries.of(binaries))))
                    .isStored();
        }
    }

    /** A damage of a kept program that checksums do not show. */
    enum Defect {
        TRUNCATED {
            @Override
            byte[][] of(byte[] module, byte[] frontEnd) {
                return new byte[][] {Arrays.copyOf(module, module.length - 4), frontEnd};
            }
        },
        EXTENDED {
            @Override
            byte[][] of(byte[] module, byte[] frontEnd) {
                return new byte[][] {Arrays.copyOf(module, module.length + 4), frontEnd};
            }
        },
        OF_SOURCE {
            @Override
            byte[][] of(byte[] module, byte[] frontEnd) {
                return new byte[][] {"kernel void scale() {}".getBytes(UTF_8), frontEnd};
            }
        },
        OF_VERSION_9 {
            @Override
            byte[][] of(byte[] module, byte[] frontEnd) {
                byte[] changed = module.clone();
                changed[6] = 9;
                return new byte[][] {changed, frontEnd};
            }
        },
        WITHOUT_FRONT_END {
            @Override
            byte[][] of(byte[] module, byte[] frontEnd) {
                return new byte[][] {module};
            }
        };

        abstract byte[][] of(byte[] module, byte[] frontEnd);
    }

    @Test
    @DisplayName("a truncated program never reaches the driver: it is counted, compiled"
            + " again and replaced")
    void truncated() throws Exception {
        malformed(Defect.TRUNCATED);
    }

    @ParameterizedTest
    @EnumSource(mode = EnumSource.Mode.EXCLUDE, names = "TRUNCATED")
    @Tag("exhaustive")
    @DisplayName("the same with other defects")
    void malformed(Defect defect) throws Exception {
        List<byte[]> sound = kept("probe");
        String machine = "malformed-" + defect;
        keep(machine, defect.of(sound.get(0), sound.get(1)));
        String output = new Machine(machine, TIGER_LAKE).lookup();
        assertEquals("COMPILED", value(output, "source"));
        assertCounts(output, 0, 1);
        assertEquals("1", value(output, "count restores-incompatible"));
        assertEquals("0", value(output, "count restores-refused"));
        assertArrayEquals(sound.get(0), kept(machine).get(0));
    }

    @Test
    @Tag("exhaustive") // by default truncated, and LookupTest for refusals
    @DisplayName("a program that the driver refuses is compiled again and replaced; without"
            + " a compiler the driver's reason is the failure")
    void refused() throws Exception {
        List<byte[]> sound = kept("probe");
        keep("refused", SpirvModules.ofOtherKernel(sound.get(0)), sound.get(1));
        String bare = new Machine("refused", TIGER_LAKE).withoutCompiler().lookup();
        assertTrue(bare.contains("failure=sample "), bare);
        assertCounts(bare, 1, 0);
        String output = new Machine("refused", TIGER_LAKE).lookup();
        assertEquals("COMPILED", value(output, "source"));
        assertEquals("[scale]", value(output, "kernels"));
        assertCounts(output, 1, 1);
        assertEquals("1", value(output, "count restores-refused"));
        assertArrayEquals(sound.get(0), kept("refused").get(0));
    }

    @Test
    @DisplayName("a program of a later version than the device takes never reaches the"
            + " driver, which would end the process: it is compiled again and replaced; without a"
            + " compiler the version is the failure")
    void laterVersion() throws Exception {
        List<byte[]> sound = kept("probe");
        byte[] later = sound.get(0).clone();
        later[5] = 5; // the minor version
        keep("later", later, sound.get(1));
        String bare = new Machine("later", TIGER_LAKE).withoutCompiler().lookup();
        assertTrue(value(bare, "failure").contains("and this is SPIR-V 1.5"), bare);
        assertCounts(bare, 1, 0);
        String output = new Machine("later", TIGER_LAKE).lookup();
        assertEquals("COMPILED", value(output, "source"));
        assertCounts(output, 1, 1);
        assertArrayEquals(sound.get(0), kept("later").get(0));
    }

    /** Publishes the kept program of a machine in a bucket. */
    private static void publish(String machine, String prefix) throws Exception {
        GranaryConfig config = GranaryConfig.builder()
                .environment(Map.of(
                        "HOME",
                        "/nonexistent",
                        "GRANARY_BUCKET",
                        "s3://kernels/" + prefix,
                        "GRANARY_S3_ENDPOINT",
                        fleet.endpoint()))
                .directory(directory.resolve(machine))
                .build();
        try (Granary granary = Granary.open(config)) {
            assertTrue(granary.publish(id()));
            assertTrue(granary.flush(Duration.ofMinutes(1)));
        }
    }

    @Test
    @Tag("exhaustive")
    @DisplayName("a program of a bucket that the driver refuses is replaced on this machine,"
            + " and by no single machine in the bucket")
    void refusedInBucket() throws Exception {
        List<byte[]> sound = kept("probe");
        keep("poisoned", SpirvModules.ofOtherKernel(sound.get(0)), sound.get(1));
        publish("poisoned", "poisoned");
        Machine first = new Machine("first", TIGER_LAKE).bucket("poisoned");
        String output = first.lookup();
        assertCounts(output, 1, 1);
        assertEquals("1", value(output, "count restores-refused"));
        String again = new Machine("first", DG1).withoutCompiler().lookup();
        assertEquals("COMPILED", value(again, "source"));
        assertCounts(again, 1, 0);
        String other = new Machine("other node", DG1)
                .bucket("poisoned")
                .withoutCompiler()
                .lookup();
        assertTrue(value(other, "failure").contains("has no kernel scale"), other);
    }

    @Test
    @DisplayName("a program on which the driver ends the process is in quarantine for the"
            + " next one, which compiles")
    void endsProcess() throws Exception {
        List<byte[]> sound = kept("probe");
        byte[] hostile = SpirvModules.withWord(sound.get(0), SpirvModules.STORE, 1, 1);
        keep("hostile", hostile, sound.get(1));
        boolean hasEnded = new Machine("hostile", TIGER_LAKE).run().exitCode() != 0;
        assumeTrue(hasEnded, "this version of Intel's driver survives the damaged module");
        String next = new Machine("hostile", TIGER_LAKE).lookup();
        assertEquals("COMPILED", value(next, "source"));
        assertEquals("1", value(next, "count restores-quarantined"));
        assertCounts(next, 0, 1);
    }

    /** Returns a search path with a program that counts its runs, and then is {@code ocloc}. */
    private static String counting(Path runs) throws Exception {
        Path programs = Files.createDirectory(runs.resolve("programs"));
        Path ocloc = SpirvTool.program(SpirvTool.PATH, "ocloc").orElseThrow();
        Path script =
                Files.writeString(programs.resolve("ocloc"), """
                #!/bin/sh
                case "$*" in *-spv_only*) mktemp RUNS/run-XXXXXX > /dev/null;; esac
                exec OCLOC "$@"
                """.replace("RUNS", runs.toString())
                        .replace("OCLOC", ocloc.toString()));
        assertTrue(script.toFile().setExecutable(true));
        return programs + ":/usr/bin:/bin";
    }

    @Test
    @Tag("exhaustive")
    @DisplayName("processes of several devices share one run of the front end")
    void compileOnce() throws Exception {
        boolean isFound = SpirvTool.program(SpirvTool.PATH, "ocloc").isPresent();
        assumeTrue(isFound, "ocloc is not installed, on Debian: apt-get install intel-opencl-icd");
        Path runs = Files.createDirectory(directory.resolve("runs"));
        String path = counting(runs);
        List<Callable<String>> lookups = new ArrayList<>();
        for (String device : List.of(TIGER_LAKE, DG1, SKYLAKE)) {
            lookups.add(() -> new Machine("once", device).path(path).lookup());
        }
        try (ExecutorService threads = Executors.newFixedThreadPool(lookups.size())) {
            for (Future<String> output : threads.invokeAll(lookups)) {
                assertEquals("COMPILED", value(output.get(), "source"));
            }
        }
        try (Stream<Path> files = Files.list(runs)) {
            assertEquals(
                    1,
                    files.filter(file -> file.getFileName().toString().startsWith("run-"))
                            .count());
        }
    }

    @Test
    @Tag("exhaustive")
    @DisplayName("a machine with another compiler uses its own program, which is kept beside"
            + " the first; one without uses the first. No environment variable changes a program")
    void otherCompiler() throws Exception {
        List<String> pair = IntStream.iterate(40, version -> version >= 11, version -> version - 1)
                .mapToObj(version -> List.of("clang-" + version, "llvm-spirv-" + version))
                .filter(names -> names.stream()
                        .allMatch(
                                name -> SpirvTool.program(SpirvTool.PATH, name).isPresent()))
                .findFirst()
                .orElse(List.of());
        assumeTrue(!pair.isEmpty(), "clang, on Debian: apt-get install clang-15 llvm-spirv-15");
        Path programs = Files.createDirectory(directory.resolve("clang"));
        for (String name : pair) {
            Files.createSymbolicLink(
                    programs.resolve(name),
                    SpirvTool.program(SpirvTool.PATH, name).orElseThrow());
        }
        Path wrong = Files.createDirectory(directory.resolve("headers"));
        Files.writeString(wrong.resolve("opencl-c-base.h"), "#error a header of the environment");
        byte[] first = kept("probe").get(0);
        keep("other", first, kept("probe").get(1));
        String own = new Machine("other", TIGER_LAKE)
                .path(programs.toString())
                .headers(wrong)
                .lookup();
        assertEquals("COMPILED", value(own, "source"));
        assertCounts(own, 1, 1);
        assertArrayEquals(first, kept("other").get(0));
        String again = new Machine("other", DG1).path(programs.toString()).lookup();
        assertCounts(again, 2, 0);
        String bare = new Machine("other", SKYLAKE).withoutCompiler().lookup();
        assertCounts(bare, 1, 0);
    }
}
