package dev.granary.coordinator.admin;

import static dev.granary.testing.CacheAssertions.assertThat;

import static org.junit.jupiter.api.Assertions.assertEquals;

import static java.nio.charset.StandardCharsets.US_ASCII;

import dev.granary.cache.Backend;
import dev.granary.cache.Entry;
import dev.granary.cache.KernelBinaries;
import dev.granary.cache.Target;
import dev.granary.cache.contract.TestEntries;
import dev.granary.coordinator.TestFleet;
import dev.granary.gpu.KernelDescriptor;
import dev.granary.gpu.binary.SampleBinaries;
import dev.granary.gpu.spirv.IntermediateDescriptor;
import dev.granary.gpu.spirv.SpirvCompiler;
import dev.granary.local.LocalTier;
import dev.granary.local.LocalTierConfig;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.nio.file.Path;
import java.time.InstantSource;
import java.util.List;
import java.util.Map;

/**
 * Explanations of the step from OpenCL C to SPIR-V. {@code IntermediateProgramsTest} compares them
 * with lookups on a driver.
 */
class IntermediateExplainerTest {
    private static final KernelDescriptor KERNEL = KernelDescriptor.builder(
                    new Target(Backend.LEVEL_ZERO, "intel", "GPU id 0x1", "1.3"), "saxpy")
            .environment(Map.of())
            .source("kernel void saxpy(global int* v) { v[0] = 1; }\n")
            .build();
    private static final IntermediateDescriptor FIRST = IntermediateDescriptor.of(KERNEL);
    private static final SpirvCompiler.Presence A = new SpirvCompiler.Presence.Installed("a 1");
    private static final SpirvCompiler.Presence ABSENT = new SpirvCompiler.Presence.Absent();

    private final Path directory;
    private final TestFleet fleet;

    IntermediateExplainerTest(@TempDir Path directory) throws Exception {
        this.directory = directory;
        this.fleet = new TestFleet(directory);
    }

    @AfterEach
    void stop() {
        fleet.close();
    }

    private static Entry entry(IntermediateDescriptor key, String frontEnd) throws Exception {
        return TestEntries.entry(
                key.getId(),
                KernelBinaries.of(SampleBinaries.bytes("saxpy.spv"), frontEnd.getBytes(US_ASCII)));
    }

    private void keep(String machine, Entry entry) throws Exception {
        try (LocalTier tier = LocalTier.open(
                LocalTierConfig.builder(directory.resolve(machine)).build())) {
            assertThat(tier.store(entry)).isStored();
        }
    }

    private IntermediateOutcome explain(String machine, SpirvCompiler.Presence presence)
            throws Exception {
        SpirvCompiler compiler = new SpirvCompiler() {
            @Override
            public byte[] compile(KernelDescriptor descriptor) {
                throw new AssertionError("an explanation compiles nothing");
            }

            @Override
            public Presence presence() {
                return presence;
            }
        };
        LookupExplainer lookups =
                new LookupExplainer(fleet.config(machine).build(), InstantSource.system());
        return new IntermediateExplainer(lookups, compiler).explain(KERNEL);
    }

    private static IntermediateOutcome kept(String tier, String frontEnd) {
        return new IntermediateOutcome.Stored(tier, frontEnd);
    }

    @Test
    @DisplayName("O11 N13 without a kept program: compiled by the front end, or there is none")
    void absent() throws Exception {
        assertEquals(new IntermediateOutcome.Compiled("a 1"), explain("node", A));
        assertEquals(new IntermediateOutcome.Missing(), explain("node", ABSENT));
        assertEquals(
                new IntermediateOutcome.CompiledOnly(),
                explain("node", new SpirvCompiler.Presence.Unidentified()));
    }

    @Test
    @DisplayName("O11 N13 a program of the same front end is used, of any without one, in the order"
            + " of the tiers")
    void kept() throws Exception {
        fleet.publishUnpacked(List.of(entry(FIRST, "a 1")));
        String bucket = "s3://kernels/ci at " + fleet.endpoint();
        assertEquals(kept(bucket, "a 1"), explain("node", A));
        assertEquals(kept(bucket, "a 1"), explain("node", ABSENT));
        keep("node", entry(FIRST, "a 1"));
        assertEquals(kept("local", "a 1"), explain("node", A));
        assertEquals(
                new IntermediateOutcome.CompiledOnly(),
                explain("node", new SpirvCompiler.Presence.Unidentified()),
                "a front end without a version uses none");
    }

    @Test
    @DisplayName("O11 N13 a first program of another front end: the own one beside it, else"
            + " compiled; without a front end the first")
    void otherFrontEnd() throws Exception {
        keep("node", entry(FIRST, "b 2"));
        assertEquals(new IntermediateOutcome.Compiled("a 1"), explain("node", A));
        assertEquals(kept("local", "b 2"), explain("node", ABSENT));
        keep("node", entry(FIRST.by("a 1"), "a 1"));
        assertEquals(kept("local", "a 1"), explain("node", A));
        keep("mixed", entry(FIRST, "b 2"));
        keep("mixed", entry(FIRST.by("a 1"), "c 3"));
        assertEquals(
                new IntermediateOutcome.Compiled("a 1"),
                explain("mixed", A),
                "its key has another front end than its content");
    }

    @Test
    @DisplayName("O11 N13 a malformed program is not used")
    void unusable() throws Exception {
        keep(
                "malformed",
                TestEntries.entry(
                        FIRST.getId(), KernelBinaries.of(SampleBinaries.bytes("saxpy.spv"))));
        assertEquals(new IntermediateOutcome.Missing(), explain("malformed", ABSENT));
    }
}
