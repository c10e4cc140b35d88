package dev.granary.cli.kernel;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;

import dev.granary.cli.Cli;
import dev.granary.cli.Main;
import dev.granary.coordinator.TestFleet;
import dev.granary.gpu.opencl.OpenCl;
import dev.granary.testing.ChildJvm;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;

/** Tests of {@code populate} for several devices: PoCL with two, in processes. */
class PopulateDevicesTest {
    @TempDir
    Path directory;

    private List<String> arguments(TestFleet fleet, String machine, String... more) {
        List<String> all = new ArrayList<>(List.of(
                "populate",
                "--dir",
                directory.resolve(machine).toString(),
                "--bucket",
                "s3://kernels/ci",
                "--endpoint",
                fleet.endpoint(),
                directory.resolve("kernels.toml").toString()));
        all.addAll(List.of(more));
        return all;
    }

    private Cli populate(TestFleet fleet, String machine, String... more) throws Exception {
        return Cli.of(ChildJvm.of(Main.class)
                .shortLived()
                .flags(
                        "-Daws.accessKeyId=" + System.getProperty("aws.accessKeyId"),
                        "-Daws.secretAccessKey=" + System.getProperty("aws.secretAccessKey"))
                // hits are expected, however busy the machine is
                .variables(Map.of("POCL_DEVICES", "pthread basic", "GRANARY_BUCKET_WAIT", "1m"))
                .run(arguments(fleet, machine, more).toArray(String[]::new)));
    }

    private static Set<String> targets(JsonObject result) {
        Set<String> targets = new TreeSet<>();
        for (JsonElement one : result.getAsJsonArray("results")) {
            targets.add(one.getAsJsonObject().get("target").getAsString());
        }
        return targets;
    }

    @Test
    @Tag("exhaustive") // by default PopulateOfflineTest.deviceAndTarget
    @DisplayName("one populate compiles for all devices, of which each target has its entries")
    void all() throws Exception {
        writeManifest();
        try (TestFleet fleet = new TestFleet(directory)) {
            JsonObject all =
                    populate(fleet, "ci", "--device", "all", "--json").exits(0).json();
            assertTrue(targets(all).size() >= 2, all::toString);
            assertEquals(
                    targets(all).size(),
                    all.getAsJsonObject("summary").get("compiled").getAsInt());
        }
    }

    @Test
    @DisplayName("an unknown device is a wrong use")
    void unknown() throws Exception {
        writeManifest();
        try (TestFleet fleet = new TestFleet(directory)) {
            // each device before an unknown one would cost a process
            String[] unknown = {"--device", "abacus,0"};
            Cli.run(arguments(fleet, "other", unknown).toArray(String[]::new))
                    .exits(2)
                    .reports("no device name contains 'abacus'");
        }
    }

    @Test
    @Tag("exhaustive")
    @DisplayName("devices are named with commas and by several options, each once; each has a"
            + " table of its own")
    void named() throws Exception {
        writeManifest();
        try (TestFleet fleet = new TestFleet(directory)) {
            String[] named = {"--device", "basic,pthread", "--device", "basic"};
            Cli text = populate(fleet, "ci", named).exits(0).prints("2 kernels: 2 compiled");
            assertEquals(
                    2,
                    text.out()
                            .lines()
                            .filter(line -> line.startsWith("for opencl/pocl"))
                            .distinct()
                            .count(),
                    text::toString);
        }
    }

    private void writeManifest() throws IOException {
        assumeTrue(
                OpenCl.devices().stream()
                        .anyMatch(device -> device.target().vendor().equals("pocl")),
                "PoCL is not installed, on Debian: apt-get install pocl-opencl-icd");
        Files.writeString(directory.resolve("k.cl"), "kernel void k(global int* a) { a[0] = 1; }");
        Files.writeString(
                directory.resolve("kernels.toml"), "[[kernel]]\nname = \"k\"\nsource = \"k.cl\"\n");
    }
}
