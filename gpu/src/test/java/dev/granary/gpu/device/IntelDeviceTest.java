package dev.granary.gpu.device;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.cache.Backend;
import dev.granary.cache.Target;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Set;

/** Tests of Intel's devices in targets. */
class IntelDeviceTest {
    private static Optional<IntelDevice> device(String text) {
        return IntelDevice.of(new Target(Backend.OPENCL, "intel", text, "1"));
    }

    @Test
    @DisplayName("a device is read from the text that it has in a target")
    void text() {
        for (IntelDevice device : List.of(
                new IntelDevice(0x9a49, OptionalInt.empty()),
                new IntelDevice(0x46, OptionalInt.of(0x3000000)),
                new IntelDevice(0xff20, OptionalInt.of(0xfedcba98)))) {
            assertEquals(Optional.of(device), device(device.text()), device::text);
        }
        assertEquals("GPU id 0x9a49", new IntelDevice(0x9a49, OptionalInt.empty()).text());
        assertEquals(
                Optional.of(new IntelDevice(0x9a49, OptionalInt.empty())),
                device("Another name id 0x9a49"));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "GPU",
                "GPU id 0x",
                "GPU id 9a49",
                "GPU id 0x9A49",
                "GPU id 0x12345",
                "GPU id 0x9a49 ip 0x",
                "GPU id 0x9a49 ip 0x123456789",
                "GPU id 0x9a49 more"
            })
    @DisplayName("any other text names no device")
    void none(String text) {
        assertEquals(Optional.empty(), device(text));
    }

    @Test
    @DisplayName("each device id of a family leads to its product, and to one family only")
    void families() {
        Set<Integer> ids = new HashSet<>();
        for (String family : IntelDevice.families()) {
            List<IntelDevice> devices = IntelDevice.ofFamily(family);
            assertTrue(devices.size() > 0, family);
            for (IntelDevice device : devices) {
                assertEquals(family, device.product().orElseThrow().acronym());
                assertTrue(ids.add(device.pciId()), device::text);
            }
        }
        assertEquals(16, IntelDevice.families().size());
        assertEquals(List.of(), IntelDevice.ofFamily("abacus"));
    }
}
