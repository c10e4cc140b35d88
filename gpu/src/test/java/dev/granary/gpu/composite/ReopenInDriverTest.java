package dev.granary.gpu.composite;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.gpu.DriverProcess;
import dev.granary.gpu.opencl.NeedsPocl;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.nio.file.Path;
import java.util.List;
import java.util.Map;

/**
 * Tests of the driver's own messages about its compiler, with a new engine for each call. They
 * reveal PoCL's compiles at launches, which no API call shows.
 */
@NeedsPocl
class ReopenInDriverTest {
    private static final String FROM_SOURCE = "building from sources";
    private static final String AT_LAUNCH = "Built a specialized WG function";
    private static final String CODE_GENERATED = "API: llvm_codegen";

    @TempDir
    Path directory;

    /** Returns the driver's messages for each of the three engines. */
    private List<String> messagesByEngine(String... arguments) throws Exception {
        String output = DriverProcess.of(ReopenProgram.class, directory)
                .variables(Map.of("POCL_DEBUG", "all"))
                .run(arguments)
                .output();
        assertEquals("1", DriverProcess.value(output, "created"));
        String[] parts = output.split("(?m)engine \\d$", -1);
        assertEquals(4, parts.length, output);
        return List.of(parts).subList(1, 4);
    }

    private static long count(String text, String part) {
        return text.lines().filter(line -> line.contains(part)).count();
    }

    @Test
    @Tag("exhaustive") // by default EngineReopenedTest
    @DisplayName("With an engine for each call, the driver's compiler runs for the launches on the"
            + " first engine only")
    void launchedOnTheFirst() throws Exception {
        List<String> messages = messagesByEngine();
        assertEquals(
                List.of(3L, 3L),
                List.of(count(messages.get(0), FROM_SOURCE), count(messages.get(0), AT_LAUNCH)),
                "the driver must print these messages");
        for (String later : messages.subList(1, 3)) {
            assertEquals(
                    List.of(0L, 0L, 0L),
                    List.of(
                            count(later, FROM_SOURCE),
                            count(later, AT_LAUNCH),
                            count(later, CODE_GENERATED)),
                    later);
        }
    }

    @Test
    @Tag("exhaustive")
    @DisplayName("if the first engine is closed before any launch, nothing is built from source"
            + " later; PoCL specializes each launch at most once")
    void unlaunched() throws Exception {
        List<String> messages = messagesByEngine("unlaunched");
        assertEquals(
                List.of(3L, 0L, 0L),
                messages.stream().map(one -> count(one, FROM_SOURCE)).toList(),
                messages::toString);
        // PoCL 3.1 covers the shapes of the first program whose binary is taken (decision 0004);
        // the three have two shapes.
        assertTrue(count(messages.get(1), AT_LAUNCH) <= 2, messages.get(1));
        assertEquals(0, count(messages.get(2), CODE_GENERATED), messages.get(2));
    }
}
