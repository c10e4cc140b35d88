package dev.granary.gpu.opencl;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.granary.cache.Backend;
import dev.granary.cache.Target;
import dev.granary.gpu.DriverTraits;
import dev.granary.gpu.Geometry;
import dev.granary.gpu.KernelDescriptor;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

class BinaryReadinessTest {
    private static final Geometry G16 = Geometry.of(64).local(16);
    private static final Geometry G32 = Geometry.of(64).local(32);

    private final AtomicInteger fired = new AtomicInteger();

    private static KernelDescriptor.Builder builder(String vendor) {
        return KernelDescriptor.builder(new Target(Backend.OPENCL, vendor, "d", "v"), "k").source("int x;");
    }

    private BinaryReadiness watch(KernelDescriptor descriptor) {
        BinaryReadiness watch = BinaryReadiness.of(descriptor, List.of("a", "b"));
        watch.onComplete(fired::incrementAndGet);
        return watch;
    }

    @Test
    @DisplayName("N5 a driver that compiles when it builds is complete at once")
    void eager() {
        watch(builder("nvidia").launch(G16).build());
        assertEquals(1, fired.get());
    }

    @Test
    @DisplayName("N5 without announced launches the first launch of any kernel completes, once")
    void anyLaunch() {
        BinaryReadiness watch = watch(builder(DriverTraits.POCL).build());
        assertEquals(0, fired.get());
        watch.launched("b", G32);
        watch.launched("a", G16);
        assertEquals(1, fired.get());
        assertEquals("[b@64/32]", watch.covered().toString());
    }

    @Test
    @DisplayName("N5 announced launches complete exactly after the last of them; others do not count, and count as covered")
    void announced() {
        BinaryReadiness watch = watch(builder(DriverTraits.POCL).launch(G16).launch("a", G32).build());
        assertEquals(List.of(G16, G32), watch.pendingGeometries());
        watch.launched("a", G16);
        watch.launched("b", G32);
        watch.launched("a", G32);
        assertEquals(0, fired.get());
        watch.launched("b", G16);
        assertEquals(1, fired.get());
        assertEquals("[a@64/16, a@64/32, b@64/16, b@64/32]", watch.covered().toString());
    }

    @Test
    @DisplayName("N5 binaries taken early cover what was launched and what the driver was made to cover, later launches not")
    void takenEarly() {
        BinaryReadiness watch = watch(builder(DriverTraits.POCL).launch("a", G16).launch("a", G32).launch("b", G32).build());
        watch.launched("b", G32);
        watch.taken(G16::equals);
        watch.launched("a", G32);
        assertEquals("[a@64/16, b@64/32]", watch.covered().toString());
    }
}
