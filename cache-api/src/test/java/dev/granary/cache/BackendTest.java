package dev.granary.cache;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import java.util.List;

/** Test of the table of readable namespaces. */
class BackendTest {
    @Test
    @DisplayName("each backend reads its own namespace, Level Zero that of OpenCL too, and no"
            + " other")
    void reads() {
        List<Backend> all = List.of(Backend.OPENCL, Backend.LEVEL_ZERO, new Backend("cuda"));
        List<String> pairs = all.stream()
                .flatMap(reader -> all.stream()
                        .filter(reader::reads)
                        .map(producer -> reader + " reads " + producer))
                .toList();
        assertEquals(
                List.of(
                        "opencl reads opencl",
                        "level-zero reads opencl",
                        "level-zero reads level-zero",
                        "cuda reads cuda"),
                pairs);
    }
}
