package dev.granary.gpu.spirv;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.cache.Backend;
import dev.granary.cache.Id;
import dev.granary.cache.Target;
import dev.granary.gpu.KernelDescriptor;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** Tests of the keys of intermediate programs. */
class IntermediateDescriptorTest {
    private static final String PORTABLE = "kernel void k(global float* o) { o[0] = 1.5f; }";
    private static final String OF_DEVICE = "kernel void k(global float* o) { o[0] = 1.5; }";

    private static KernelDescriptor.Builder builder(String device, String driver, String source) {
        return KernelDescriptor.builder(
                        new Target(Backend.LEVEL_ZERO, "intel", device, driver), "k")
                .environment(Map.of())
                .source(source);
    }

    private static Id id(KernelDescriptor.Builder kernel) {
        return IntermediateDescriptor.of(kernel.build()).getId();
    }

    @Test
    @DisplayName("devices and drivers share the program of a portable source; of another"
            + " source only drivers do")
    void devices() {
        assertEquals(
                id(builder("GPU id 0x1", "1", PORTABLE)), id(builder("GPU id 0x2", "2", PORTABLE)));
        assertEquals(
                id(builder("GPU id 0x1", "1", OF_DEVICE)),
                id(builder("GPU id 0x1", "2", OF_DEVICE)));
        assertNotEquals(
                id(builder("GPU id 0x1", "1", OF_DEVICE)),
                id(builder("GPU id 0x2", "1", OF_DEVICE)));
        assertEquals(
                "level-zero/" + IntermediateDescriptor.TARGET.name(),
                id(builder("GPU id 0x1", "1", PORTABLE)).target().path());
        assertTrue(IntermediateDescriptor.isIntermediate(id(builder("d", "1", PORTABLE))));
    }

    @Test
    @DisplayName("each input of the front end changes the id; name, entry points, launches"
            + " and options of the driver do not")
    void inputs() {
        Id plain = id(builder("d", "1", PORTABLE));
        KernelDescriptor kernel = builder("d", "1", PORTABLE).build();
        Set<Id> ids = new HashSet<>(List.of(
                plain,
                kernel.getId(),
                IntermediateDescriptor.of(kernel).by("ocloc 1").getId(),
                IntermediateDescriptor.of(kernel).by("ocloc 2").getId(),
                id(builder("d", "1", PORTABLE + "\n\n\n//")),
                id(builder("d", "1", PORTABLE).source(PORTABLE)),
                id(builder("d", "1", PORTABLE).header("a.clh", "")),
                id(builder("d", "1", PORTABLE).header("a.clh", "int a;")),
                id(builder("d", "1", PORTABLE).includeDirectory("a")),
                id(builder("d", "1", PORTABLE).options("-DN=1")),
                id(builder("d", "1", PORTABLE).options("-cl-mad-enable")),
                id(builder("d", "1", PORTABLE).extraDigest("x")),
                id(builder("d", "1", PORTABLE).tag("x")),
                id(builder("d", "1", PORTABLE).environment(Map.of("IGC_EnableX", "1")))));
        assertEquals(14, ids.size());
        assertEquals(plain, id(builder("d", "1", PORTABLE).options("-ze-opt-disable")));
        assertEquals(plain, id(builder("d", "1", PORTABLE).entry("k")));
    }

    @Test
    @DisplayName("a kernel without an id has no intermediate program with one")
    void notCacheable() {
        KernelDescriptor.Builder kernel =
                builder("d", "1", PORTABLE + " // " + "\nint t = __TIME__;");
        assertEquals(kernel.build().getId().reason(), id(kernel).reason());
        assertTrue(id(kernel).isEmpty());
        assertTrue(!IntermediateDescriptor.isIntermediate(id(kernel)));
    }
}
