package dev.granary.gpu.offline;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.cache.Backend;
import dev.granary.cache.Target;
import dev.granary.gpu.device.IntelDevice;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.util.List;
import java.util.OptionalInt;

/** Tests of names of targets, with a compiler that knows some devices. */
class OclocTargetsTest {
    private static final DriverVersion VERSION =
            DriverVersion.parse("22.43.24595.41").orElseThrow();
    private static final OclocTargets TARGETS =
            new OclocTargets(VERSION, device -> device.pciId() != 0x9a59);

    private static Target target(Backend backend, int id, OptionalInt ip, String driver) {
        return new Target(backend, "intel", new IntelDevice(id, ip).text(), driver);
    }

    @Test
    @DisplayName("a PCI device id is a target of each backend, with the driver's version in it")
    void deviceId() throws Exception {
        List<Target> both = List.of(
                target(Backend.OPENCL, 0x9a49, OptionalInt.empty(), "22.43.24595.41"),
                target(Backend.LEVEL_ZERO, 0x9a49, OptionalInt.empty(), "1.3.24595"));
        assertEquals(both, TARGETS.of("0x9a49"));
        assertEquals(both, TARGETS.of("0x9A49"));
        assertEquals(both.subList(0, 1), TARGETS.of("opencl/0x9a49"));
        assertEquals(both.subList(1, 2), TARGETS.of("level-zero/0x9a49"));
    }

    @Test
    @DisplayName("a family is all its devices, less those that the compiler does not know")
    void family() throws Exception {
        List<String> devices =
                TARGETS.of("opencl/tgllp").stream().map(Target::device).toList();
        assertTrue(devices.containsAll(List.of("GPU id 0x9a49", "GPU id 0xff20")));
        assertEquals(7, devices.size(), devices::toString);
        assertEquals(14, TARGETS.of("TGLLP").size());
    }

    @Test
    @DisplayName("a target as it is printed on the device is that target, if its driver is the"
            + " compiler's")
    void path() throws Exception {
        for (Target target : List.of(
                target(Backend.OPENCL, 0x9a49, OptionalInt.empty(), "22.43.24595.41"),
                target(Backend.LEVEL_ZERO, 0x46, OptionalInt.empty(), "1.3.24595"),
                target(Backend.LEVEL_ZERO, 0x9a49, OptionalInt.of(0x3000000), "1.6.24595"))) {
            assertEquals(List.of(target), TARGETS.of(target.path()));
        }
        String other =
                target(Backend.OPENCL, 0x9a49, OptionalInt.empty(), "23.1.1.1").path();
        assertRefused(other, "install the ocloc of that driver");
        assertRefused(
                target(Backend.LEVEL_ZERO, 0x9a49, OptionalInt.empty(), "1.3.24596")
                        .path(),
                "install the ocloc of that driver");
        assertRefused(
                target(Backend.OPENCL, 0x9a59, OptionalInt.empty(), "22.43.24595.41")
                        .path(),
                "has no code for 0x9a59");
    }

    @Test
    @DisplayName("later drivers report other versions of Level Zero: only a printed target"
            + " names one")
    void laterDriver() throws Exception {
        OclocTargets later =
                new OclocTargets(DriverVersion.parse("24.26.30049.6").orElseThrow(), _ -> true);
        assertEquals(
                List.of(target(Backend.OPENCL, 0x9a49, OptionalInt.empty(), "24.26.30049.6")),
                later.of("0x9a49"));
        IllegalArgumentException refused =
                assertThrows(IllegalArgumentException.class, () -> later.of("level-zero/0x9a49"));
        assertTrue(
                String.valueOf(refused.getMessage()).contains("as granary devices prints them"),
                refused::getMessage);
        Target printed = target(Backend.LEVEL_ZERO, 0x9a49, OptionalInt.of(0x3000000), "1.3.30049");
        assertEquals(List.of(printed), later.of(printed.path()));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                "/",
                "abacus",
                "cuda/tgllp",
                "opencl/",
                "0x",
                "0x12345",
                "9a49",
                "0x-1",
                "opencl/opencl/tgllp",
                "opencl/intel_gpu-id-0x9a49_22.43.24595.41_000000000000",
                "tgllp,dg1",
                "-device",
                "tgllp\n"
            })
    @DisplayName("another name is refused with the list of names")
    void unknown(String name) {
        assertRefused(name, "(skl, kbl, cfl,");
    }

    @Test
    @DisplayName("A device without code is refused with the compiler's version")
    void unsupported() {
        assertRefused("0x9a59", "ocloc of the driver 22.43.24595.41 has no code for 0x9a59");
    }

    private static void assertRefused(String name, String part) {
        IllegalArgumentException refused =
                assertThrows(IllegalArgumentException.class, () -> TARGETS.of(name));
        assertTrue(String.valueOf(refused.getMessage()).contains(part), refused::getMessage);
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "22.43", "22.43.x", "v22.43.24595.41", "22.43.99999999999999"})
    @DisplayName("A text that is no version of the driver is none")
    void noVersion(String text) {
        assertTrue(DriverVersion.parse(text).isEmpty());
    }
}
