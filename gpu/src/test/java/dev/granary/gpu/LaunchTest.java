package dev.granary.gpu;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import java.util.List;
import java.util.TreeSet;

/** Tests of geometries and launches. */
class LaunchTest {
    @Test
    @DisplayName("A geometry prints its sizes, with a star if the driver chooses the local size")
    void text() {
        assertEquals("256x128/16x8", Geometry.of(256, 128).local(16, 8).toString());
        assertEquals("7/*", Geometry.of(7).toString());
        assertEquals("gemm@7/*", new Launch("gemm", Geometry.of(7)).toString());
        assertEquals(3, Geometry.of(1, 2, 3).dimensions());
    }

    @Test
    @DisplayName(
            "A geometry with zero, four or unequal dimensions, or a size that is not positive, is"
                    + " refused")
    void refused() {
        assertThrows(IllegalArgumentException.class, Geometry::of);
        assertThrows(IllegalArgumentException.class, () -> Geometry.of(1, 1, 1, 1));
        assertThrows(IllegalArgumentException.class, () -> Geometry.of(4).local(2, 2));
        assertThrows(IllegalArgumentException.class, () -> Geometry.of(0));
        assertThrows(IllegalArgumentException.class, () -> Geometry.of(4, -1));
        assertThrows(IllegalArgumentException.class, () -> Geometry.of(4).local(0));
        assertThrows(IllegalArgumentException.class, () -> new Launch(" ", Geometry.of(1)));
    }

    @Test
    @DisplayName("The order of launches is consistent with equals")
    void order() {
        TreeSet<Launch> launches = new TreeSet<>(List.of(
                new Launch("b", Geometry.of(1)),
                new Launch("a", Geometry.of(2)),
                new Launch("a", Geometry.of(1)),
                new Launch("b", Geometry.of(1)),
                new Launch("b", Geometry.of(1).local(1))));
        assertEquals("[a@1/*, a@2/*, b@1/*, b@1/1]", launches.toString());
    }
}
