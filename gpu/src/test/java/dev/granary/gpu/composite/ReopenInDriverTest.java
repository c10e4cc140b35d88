package dev.granary.gpu.composite;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.gpu.Child;
import dev.granary.gpu.opencl.NeedsPocl;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What the driver itself says about its compiler when engines are made anew for each call: PoCL compiles at launches, unseen by any call. */
@NeedsPocl
class ReopenInDriverTest {
    private static final String FROM_SOURCE = "building from sources";
    private static final String AT_LAUNCH = "Built a specialized WG function";
    private static final String CODE_MADE = "API: llvm_codegen";

    @TempDir
    Path directory;

    /** For each of the three engines, what the driver said while it was open. */
    private List<String> saidOnEngines(String... arguments) throws Exception {
        String output = new Child(ReopenProgram.class, directory).set("POCL_DEBUG", "all").run(arguments);
        assertEquals("1", Child.value(output, "created"));
        String[] parts = output.split("(?m)engine \\d$", -1);
        assertEquals(4, parts.length, output);
        return List.of(parts).subList(1, 4);
    }

    private static long count(String text, String part) {
        return text.lines().filter(line -> line.contains(part)).count();
    }

    @Test
    @DisplayName("An engine for each call: the driver's compiler runs for the launches on the first, and not at all on the others")
    void launchedOnTheFirst() throws Exception {
        List<String> said = saidOnEngines();
        assertEquals(List.of(3L, 3L), List.of(count(said.get(0), FROM_SOURCE), count(said.get(0), AT_LAUNCH)), "else this test sees nothing");
        for (String later : said.subList(1, 3)) {
            assertEquals(List.of(0L, 0L, 0L), List.of(count(later, FROM_SOURCE), count(later, AT_LAUNCH), count(later, CODE_MADE)), later);
        }
    }

    @Test
    @DisplayName("N5 the first engine closed before any launch: nothing is built from source later; what PoCL specialises at a launch, it does once")
    void unlaunched() throws Exception {
        List<String> said = saidOnEngines("unlaunched");
        assertEquals(List.of(3L, 0L, 0L), said.stream().map(one -> count(one, FROM_SOURCE)).toList());
        // PoCL 3.1 covers the shapes of the program that it was asked for first, decision 0004; the three have two shapes.
        assertTrue(count(said.get(1), AT_LAUNCH) <= 2, said.get(1));
        assertEquals(0, count(said.get(2), CODE_MADE), said.get(2));
    }
}
