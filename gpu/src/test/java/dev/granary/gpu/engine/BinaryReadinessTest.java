package dev.granary.gpu.engine;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.granary.cache.Backend;
import dev.granary.cache.Target;
import dev.granary.gpu.Geometry;
import dev.granary.gpu.KernelDescriptor;
import dev.granary.gpu.device.DriverTraits;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;

/** Tests of the moment at which the binaries of a program are complete. */
class BinaryReadinessTest {
    private static final Geometry G16 = Geometry.of(64).local(16);
    private static final Geometry G32 = Geometry.of(64).local(32);

    private final AtomicInteger fired = new AtomicInteger();

    private static KernelDescriptor.Builder builder(String vendor) {
        return KernelDescriptor.builder(new Target(Backend.OPENCL, vendor, "d", "v"), "k")
                .source("int x;");
    }

    private BinaryReadiness readiness(KernelDescriptor descriptor) {
        BinaryReadiness readiness = BinaryReadiness.of(descriptor, List.of("a", "b"));
        readiness.onComplete(fired::incrementAndGet);
        return readiness;
    }

    @Test
    @DisplayName("with a driver that compiles at build time, binaries are complete at once")
    void eager() {
        readiness(builder("nvidia").launch(G16).build());
        assertEquals(1, fired.get());
    }

    @Test
    @DisplayName("without announced launches, binaries are complete after the first launch of any"
            + " kernel, once")
    void anyLaunch() {
        BinaryReadiness readiness = readiness(builder(DriverTraits.POCL).build());
        assertEquals(0, fired.get());
        readiness.launched("b", G32);
        readiness.launched("a", G16);
        assertEquals(1, fired.get());
        assertEquals("[b@64/32]", readiness.covered().toString());
    }

    @Test
    @DisplayName("binaries are complete exactly after the last announced launch; other launches are"
            + " covered but not awaited")
    void announced() {
        BinaryReadiness readiness = readiness(
                builder(DriverTraits.POCL).launch(G16).launch("a", G32).build());
        assertEquals(List.of(G16, G32), readiness.pendingGeometries());
        readiness.launched("a", G16);
        readiness.launched("b", G32);
        readiness.launched("a", G32);
        assertEquals(0, fired.get());
        readiness.launched("b", G16);
        assertEquals(1, fired.get());
        assertEquals("[a@64/16, a@64/32, b@64/16, b@64/32]", readiness.covered().toString());
    }

    @Test
    @DisplayName("binaries taken early cover earlier launches and those that the driver guarantees,"
            + " but no later ones")
    void takenEarly() {
        BinaryReadiness readiness = readiness(builder(DriverTraits.POCL)
                .launch("a", G16)
                .launch("a", G32)
                .launch("b", G32)
                .build());
        readiness.launched("b", G32);
        readiness.taken(G16::equals);
        readiness.launched("a", G32);
        assertEquals("[a@64/16, b@64/32]", readiness.covered().toString());
    }
}
