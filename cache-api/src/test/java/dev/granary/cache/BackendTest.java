package dev.granary.cache;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import java.util.Arrays;
import java.util.List;

/** Test of the table of readable namespaces. */
class BackendTest {
    @Test
    @DisplayName("each backend reads its own namespace, Level Zero that of OpenCL too, and no"
            + " other")
    void reads() {
        List<String> pairs = Arrays.stream(Backend.values())
                .flatMap(reader -> Arrays.stream(Backend.values())
                        .filter(reader::reads)
                        .map(producer -> reader + " reads " + producer))
                .toList();
        assertEquals(
                List.of(
                        "OPENCL reads OPENCL",
                        "LEVEL_ZERO reads OPENCL",
                        "LEVEL_ZERO reads LEVEL_ZERO"),
                pairs);
    }
}
