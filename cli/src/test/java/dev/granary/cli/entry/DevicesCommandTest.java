package dev.granary.cli.entry;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;

import dev.granary.cache.Backend;
import dev.granary.cli.Cli;
import dev.granary.cli.Main;
import dev.granary.gpu.levelzero.LevelZero;
import dev.granary.gpu.levelzero.TestDriver;
import dev.granary.gpu.opencl.OpenCl;
import dev.granary.gpu.opencl.OpenClDevice;
import dev.granary.testing.ChildJvm;

import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;

/** Tests of {@code granary devices}, with the drivers that are installed. */
class DevicesCommandTest {
    @Test
    @DisplayName(
            "devices lists each device with the target that engines use, and what is" + " missing")
    void list() {
        JsonObject printed = Cli.run("devices", "--json").exits(0).json();
        List<JsonObject> devices = printed.getAsJsonArray("devices").asList().stream()
                .map(JsonElement::getAsJsonObject)
                .toList();
        List<OpenClDevice> ofOpenCl = OpenCl.devices();
        assertReadsByTheTable(devices);
        assertEquals(
                Stream.concat(
                                ofOpenCl.stream().map(device -> device.target().path()),
                                LevelZero.devices().stream()
                                        .map(device -> device.target().path()))
                        .toList(),
                devices.stream()
                        .map(device -> device.get("target").getAsString())
                        .toList());
        for (int i = 0; i < ofOpenCl.size(); i++) {
            JsonObject device = devices.get(i);
            OpenClDevice expected = ofOpenCl.get(i);
            assertEquals("opencl", device.get("backend").getAsString());
            assertEquals(i, device.get("number").getAsInt());
            assertEquals(expected.name(), device.get("name").getAsString());
            assertEquals(expected.platformName(), device.get("platform").getAsString());
            assertEquals(expected.target().driver(), device.get("driver").getAsString());
            assertEquals(
                    List.of(expected.target().path()),
                    device.getAsJsonArray("reads").asList().stream()
                            .map(JsonElement::getAsString)
                            .toList());
            assertEquals(
                    expected.intermediateLanguages(),
                    device.getAsJsonArray("intermediateLanguages").asList().stream()
                            .map(JsonElement::getAsString)
                            .toList());
            int most = device.get("subDevices").getAsInt();
            assertTrue(most >= 0 && most <= expected.computeUnits(), device::toString);
        }
        assertEquals(
                LevelZero.probe() instanceof LevelZero.Probe.Missing,
                printed.getAsJsonObject("missing").has("level-zero"));
    }

    @Test
    @DisplayName("a program with the command but without LWJGL lists the devices of Level Zero,"
            + " and the artifact that OpenCL needs")
    void withoutBinding(@TempDir Path directory) throws Exception {
        Optional<String> reason = TestDriver.compile(directory);
        Assumptions.assumeTrue(reason.isEmpty(), () -> reason.orElse(""));
        JsonObject printed = JsonParser.parseString(ChildJvm.of(Main.class)
                        .shortLived()
                        .classPath(part -> !String.valueOf(part.getFileName()).startsWith("lwjgl"))
                        .variables(Map.of(
                                TestDriver.ALTERNATIVE_DRIVERS,
                                directory.resolve("driver.so").toString()))
                        .run("devices", "--json")
                        .output())
                .getAsJsonObject();
        JsonObject missing = printed.getAsJsonObject("missing");
        Assumptions.assumeFalse(
                missing.has("level-zero"), () -> missing.get("level-zero").getAsString());
        assertTrue(missing.get("opencl").getAsString().contains("granary-opencl-lwjgl"));
        List<JsonElement> devices = printed.getAsJsonArray("devices").asList();
        assertFalse(devices.isEmpty());
        for (JsonElement device : devices) {
            assertEquals("level-zero", device.getAsJsonObject().get("backend").getAsString());
        }
    }

    /** Checks that each device reads its target first, and otherwise what the table permits. */
    static void assertReadsByTheTable(List<JsonObject> devices) {
        for (JsonObject device : devices) {
            Backend backend =
                    Backend.ofPath(device.get("backend").getAsString()).orElseThrow();
            List<String> reads = device.getAsJsonArray("reads").asList().stream()
                    .map(JsonElement::getAsString)
                    .toList();
            assertEquals(device.get("target").getAsString(), reads.getFirst());
            for (String target : reads) {
                String producer = target.substring(0, target.indexOf('/'));
                assertTrue(backend.reads(Backend.ofPath(producer).orElseThrow()), device::toString);
            }
        }
    }

    @Test
    @DisplayName("the text names each device and its target, and how to install what is missing")
    void text() {
        Cli shown = Cli.run("devices").exits(0);
        OpenCl.devices()
                .forEach(device -> shown.prints(device.name(), device.target().path()));
        switch (LevelZero.probe()) {
            case LevelZero.Probe.Missing missing ->
                shown.prints("no level-zero: " + missing.cause());
            case LevelZero.Probe.Found found ->
                found.devices().forEach(device -> shown.prints(device.target().path()));
        }
    }
}
