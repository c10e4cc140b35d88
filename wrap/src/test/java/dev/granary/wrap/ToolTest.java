package dev.granary.wrap;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.coordinator.config.ConfigException;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** Tests of the tools whose directories are known. */
class ToolTest {
    private static final Map<String, String> HOME = Map.of("HOME", "/home/me", "USER", "me");

    @Test
    @DisplayName("the documentation has a row for each tool, with its variable and a source")
    void documented() throws Exception {
        List<String> rows = Files.readAllLines(Path.of("../docs/wrap.md"));
        for (Tool tool : Tool.known()) {
            String row = rows.stream()
                    .filter(line -> line.startsWith("| `" + tool.name() + "` |"))
                    .findFirst()
                    .orElseThrow(() -> new AssertionError(tool.name()));
            tool.variables().forEach(name -> assertTrue(row.contains("`" + name + "`"), row));
            assertTrue(row.contains("](http"), row);
        }
    }

    @Test
    @DisplayName("a directory is that of the tool's variable, or its standard one")
    void directories() throws Exception {
        assertEquals(Path.of("/home/me/.cache/pocl/kcache"), Tool.named("pocl").directory(HOME));
        Map<String, String> environment = new HashMap<>(HOME);
        environment.put("XDG_CACHE_HOME", "/cache");
        environment.put("FLASHINFER_WORKSPACE_BASE", "/fast");
        environment.put("cl_cache_dir", "/neo");
        assertEquals(Path.of("/cache/pocl/kcache"), Tool.named("pocl").directory(environment));
        assertEquals(
                Path.of("/fast/.cache/flashinfer"),
                Tool.named("flashinfer").directory(environment));
        assertEquals(Path.of("/neo"), Tool.named("neo").directory(environment));
        environment.put("FLASHINFER_WORKSPACE_BASE", "/");
        assertEquals(
                Path.of("/.cache/flashinfer"), Tool.named("flashinfer").directory(environment));
    }

    @Test
    @DisplayName("the root is the directory of no tool")
    void root() throws Exception {
        Tool numba = Tool.named("numba");
        assertThrows(ConfigException.class, () -> numba.directory(Map.of("NUMBA_CACHE_DIR", "/")));
    }

    @Test
    @DisplayName("a tool without a directory names the variable and the option")
    void unknownDirectory() throws Exception {
        Tool jax = Tool.named("jax");
        String message =
                assertThrows(ConfigException.class, () -> jax.directory(HOME)).toString();
        assertTrue(message.contains("JAX_COMPILATION_CACHE_DIR"), message);
        assertTrue(message.contains("--dir jax=PATH"), message);
    }

    @Test
    @DisplayName("the program gets the variables of the directory, and those that switch it on")
    void environment() throws Exception {
        Map<String, String> environment = new HashMap<>(HOME);
        environment.put("AMD_COMGR_CACHE", "0");
        for (String name : List.of("neo", "flashinfer", "comgr")) {
            Tool tool = Tool.named(name);
            tool.select(tool.directory(environment), environment);
        }
        assertEquals("/home/me/.cache/neo_compiler_cache", environment.get("cl_cache_dir"));
        assertEquals("1", environment.get("NEO_CACHE_PERSISTENT"));
        assertEquals("/home/me", environment.get("FLASHINFER_WORKSPACE_BASE"));
        assertEquals("0", environment.get("AMD_COMGR_CACHE"));
        Tool.named("flashinfer").select(Path.of("/other"), environment);
        assertEquals("/home/me", environment.get("FLASHINFER_WORKSPACE_BASE"));
    }
}
