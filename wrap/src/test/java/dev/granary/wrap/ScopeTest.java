package dev.granary.wrap;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;

/** Tests of the facts that machines must have in common to share files. */
class ScopeTest {
    private final Path root;

    ScopeTest(@TempDir Path root) {
        this.root = root;
    }

    private void write(String path, String content) throws IOException {
        Path file = root.resolve(path);
        Files.createDirectories(file.getParent());
        Files.writeString(file, content);
    }

    private Scope scope(String tool, Map<String, String> environment, String text)
            throws Exception {
        return Scope.of(Tool.named(tool), root.resolve("kernels"), root, environment, text);
    }

    private Map<String, String> facts(String tool) throws Exception {
        return scope(tool, Map.of(), "").facts();
    }

    @Test
    @DisplayName("processor, GPU, kernel driver, libraries and packages are found where Linux has"
            + " them")
    void found() throws Exception {
        write("proc/cpuinfo", "processor\t: 0\nmodel name\t: Fast 9000\nflags\t\t: avx avx2\n");
        write("sys/bus/pci/devices/0000:01:00.0/class", "0x030200\n");
        write("sys/bus/pci/devices/0000:01:00.0/vendor", "0x10de\n");
        write("sys/bus/pci/devices/0000:01:00.0/device", "0x2330\n");
        write("sys/bus/pci/devices/0000:00:01.0/class", "0x020000\n");
        write("sys/module/nvidia/version", "570.1\n");
        write("usr/lib/x86_64-linux-gnu/libpocl.so.2.10.0", "library");
        write("usr/lib/x86_64-linux-gnu/libpocl.so.2.10.0.debug/x", "");
        write("usr/lib/python3/dist-packages/numba-0.56.4.egg-info/PKG-INFO", "");
        write("usr/lib/python3/dist-packages/llvmlite-0.39.1.dist-info/METADATA", "");
        write("usr/lib/python3/dist-packages/numba_extras-1.dist-info/METADATA", "");
        assertTrue(
                String.valueOf(facts("pocl").get("processor")).startsWith("Fast 9000, features"));
        assertEquals("libpocl.so.2.10.0 of 7 bytes", facts("pocl").get("libraries"));
        assertEquals("0x10de:0x2330", facts("nvidia").get("gpu"));
        assertEquals("nvidia 570.1", facts("nvidia").get("kernel driver"));
        assertEquals("llvmlite 0.39.1, numba 0.56.4", facts("numba").get("packages"));
    }

    @Test
    @DisplayName("the packages of a virtual environment hide those of the machine")
    void virtualEnvironment() throws Exception {
        write("usr/lib/python3/dist-packages/triton-2.0.dist-info/METADATA", "");
        write("venv/lib/python3.12/site-packages/triton-3.1.dist-info/METADATA", "");
        Map<String, String> environment =
                Map.of("VIRTUAL_ENV", root.resolve("venv").toString());
        assertEquals("triton 3.1", scope("triton", environment, "").facts().get("packages"));
    }

    @Test
    @DisplayName("files that name their own places are shared between directories of one path")
    void located() throws Exception {
        assertEquals("" + root.resolve("kernels"), facts("triton").get("directory"));
        assertFalse(facts("numba").containsKey("directory"));
    }

    @Test
    @DisplayName("each difference makes another scope, and an empty machine has one, too")
    void differences() throws Exception {
        Set<String> names = new HashSet<>();
        names.add(scope("numba", Map.of(), "").target().path());
        names.add(scope("numba", Map.of(), "text").target().path());
        names.add(scope("triton", Map.of(), "").target().path());
        write("proc/cpuinfo", "model name\t: Fast 9000\nflags\t\t: avx avx2\n");
        String processor = scope("numba", Map.of(), "").target().path();
        names.add(processor);
        write("proc/cpuinfo", "model name\t: Fast 9000\nflags\t\t: avx\n");
        names.add(scope("numba", Map.of(), "").target().path());
        write("usr/local/lib/python3.12/dist-packages/numba-1.dist-info/METADATA", "");
        names.add(scope("numba", Map.of(), "").target().path());
        write("sys/bus/pci/devices/0000:01:00.0/class", "0x030200\n");
        names.add(scope("numba", Map.of(), "").target().path());
        assertEquals(7, names.size(), names::toString);
        write("proc/cpuinfo", "flags\t\t: avx\ncpu MHz\t: 2000\nmodel name\t: Fast 9000\n");
        assertTrue(names.contains(scope("numba", Map.of(), "").target().path()), "not the clock");
        assertTrue(processor.startsWith("files/numba_"), processor);
    }
}
