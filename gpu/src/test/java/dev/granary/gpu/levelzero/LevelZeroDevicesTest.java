package dev.granary.gpu.levelzero;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.cache.Backend;
import dev.granary.cache.BinaryKind;
import dev.granary.cache.Primitive;
import dev.granary.cache.Target;
import dev.granary.cache.constant.EngineKind;
import dev.granary.gpu.DriverProcess;
import dev.granary.testing.ChildJvm;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.nio.file.Path;
import java.util.List;
import java.util.Map;

/** Tests of devices and their targets, and of what is missing. */
class LevelZeroDevicesTest {
    @Test
    @DisplayName("without the loader there is a value that names the packages to install")
    void noLoader() {
        LevelZero.Probe.Missing missing =
                (LevelZero.Probe.Missing) LevelZero.probe("libze_absent.so.1");
        assertTrue(missing.cause().contains("libze_absent.so.1 was not found"), missing.cause());
        assertTrue(missing.cause().contains("apt-get install libze1 "), missing.cause());
    }

    /** Tests on the test driver. */
    @Nested
    @NeedsTestDriver
    class OnTestDriver {
        private final TestDriver driver = TestDriver.get();

        @AfterEach
        void restoreSettings() {
            for (String setting :
                    List.of("DEVICES", "SUBDEVICES", "DRIVER_VERSION", "DEVICE_ID", "IP_VERSION")) {
                driver.set("GRANARY_ZE_" + setting, "");
            }
        }

        private Target target() {
            return LevelZero.devices().getFirst().target();
        }

        @Test
        @DisplayName("A target is made of vendor, device id and driver version")
        void targetOfDevice() {
            assertEquals(
                    new Target(
                            Backend.LEVEL_ZERO,
                            "vendor 0x6772",
                            "Vector device id 0x7e57",
                            "1.2.3"),
                    target());
            assertEquals(EngineKind.GPU, LevelZero.devices().getFirst().kind());
        }

        @Test
        @DisplayName("Another driver, device or architecture has another target; the order of"
                + " devices does not")
        void targets() {
            Target before = target();
            driver.set("GRANARY_ZE_DEVICES", "3");
            List<LevelZeroDevice> devices = LevelZero.devices();
            assertEquals(
                    List.of(0, 1, 2),
                    devices.stream().map(LevelZeroDevice::index).toList());
            devices.forEach(device -> assertEquals(before, device.target()));
            driver.set("GRANARY_ZE_IP_VERSION", "0x3000000");
            assertEquals("Vector device id 0x7e57 ip 0x3000000", target().device());
            driver.set("GRANARY_ZE_IP_VERSION", "");
            driver.set("GRANARY_ZE_DRIVER_VERSION", "0xff01ffff");
            assertEquals("255.1.65535", target().driver());
            driver.set("GRANARY_ZE_DRIVER_VERSION", "");
            driver.set("GRANARY_ZE_DEVICE_ID", "1");
            assertNotEquals(before, target());
        }

        @Test
        @DisplayName("No device is a list without devices")
        void noDevice() {
            driver.set("GRANARY_ZE_DEVICES", "0");
            assertEquals(List.of(), LevelZero.devices());
        }

        @Test
        @DisplayName("Sub-devices share the target of their device, and each other's binaries")
        void subDevices() throws Exception {
            LevelZeroDevice whole = LevelZero.devices().getFirst();
            assertEquals(List.of(), whole.subDevices());
            driver.set("GRANARY_ZE_SUBDEVICES", "2");
            List<LevelZeroDevice> parts = whole.subDevices();
            assertEquals(2, parts.size());
            assertEquals(whole.computeUnits(), 2 * parts.getLast().computeUnits());
            assertEquals(whole.target(), parts.getLast().target());
            assertEquals(whole.index(), parts.getLast().index());
            try (LevelZeroEngine one =
                            LevelZeroEngine.open(parts.getFirst(), VectorPrograms.COMPILER);
                    LevelZeroEngine two =
                            LevelZeroEngine.open(parts.getLast(), VectorPrograms.COMPILER)) {
                var descriptor = VectorPrograms.vectors(whole.target(), 1).build();
                var binaries = one.create(descriptor).getBinaries(BinaryKind.KERNEL);
                assertEquals(
                        Primitive.Origin.RESTORED,
                        two.create(descriptor, binaries, BinaryKind.KERNEL).origin());
            }
        }

        @Test
        @DisplayName("a loader without a driver is a value that names the packages to install")
        void noDriver(@TempDir Path directory) throws Exception {
            ChildJvm process = DriverProcess.of(ModuleProgram.class, directory)
                    .variables(Map.of(
                            TestDriver.ALTERNATIVE_DRIVERS,
                            directory.resolve("absent.so").toString()));
            String cause = DriverProcess.value(process.run("build", "binary").output(), "missing");
            assertTrue(
                    cause.startsWith(
                            "zeInit failed with 0x78000001 (ZE_RESULT_ERROR_UNINITIALIZED)"),
                    cause);
            assertTrue(cause.contains("apt-get install intel-opencl-icd"), cause);
        }
    }
}
