package dev.granary.gpu.composite;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.gpu.DriverProcess;
import dev.granary.gpu.composite.CompositeCache.CompositeStatistics;
import dev.granary.gpu.opencl.NeedsPocl;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;

/** Tests of devices of different targets in one process. */
@NeedsPocl
class TwoTargetsTest {
    @Test
    @Tag("exhaustive")
    @DisplayName("two targets give two primitives of one operation; a reorder between them has both"
            + " in its key, and runs on either")
    void twoTargets(@TempDir Path directory) throws Exception {
        String output = DriverProcess.of(TwoTargetsProgram.class, directory)
                .variables(Map.of("POCL_DEVICES", "pthread basic"))
                .run()
                .output();
        assertEquals(
                new CompositeStatistics(1, 2, 0, 4, 0, 6).toString(),
                DriverProcess.value(output, "products"));
        assertEquals(
                new CompositeStatistics(1, 4, 0, 4, 0, 8).toString(),
                DriverProcess.value(output, "reorders"));
        float[] expected = new float[32];
        for (int i = 0; i < 32; i++) {
            expected[i % 8 * 4 + i / 8] = i - 16;
        }
        String hash = String.valueOf(Arrays.hashCode(expected));
        assertEquals(
                List.of("result=" + hash, "result=" + hash),
                output.lines().filter(line -> line.startsWith("result=")).toList());
        assertTrue(
                DriverProcess.value(output, "swapped")
                        .startsWith("The source engine of Reorder must be"),
                output);
    }
}
