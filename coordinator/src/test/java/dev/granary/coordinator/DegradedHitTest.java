package dev.granary.coordinator;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.granary.cache.Backend;
import dev.granary.gpu.DriverProcess;
import dev.granary.gpu.offline.Ocloc;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;

/** Tests of hits that Intel's driver compiles again from the SPIR-V in a binary. */
class DegradedHitTest {
    private static final String INSTALL = "on Debian: apt-get install intel-opencl-icd libze1";

    @TempDir
    Path directory;

    private String run(String... arguments) throws Exception {
        Map<String, String> variables = new HashMap<>();
        variables.put("NEOReadDebugKeys", "1");
        variables.put("SetCommandStreamReceiver", "1");
        variables.put("ProductFamilyOverride", "tgllp");
        variables.put("NEO_CACHE_PERSISTENT", "0");
        return DriverProcess.of(DegradedHitProgram.class, directory)
                .variables(variables)
                .run(arguments)
                .output();
    }

    private String machine(String name) {
        return directory.resolve(name).toString();
    }

    private void store(Backend backend, String name) throws Exception {
        boolean hasOcloc = Ocloc.probe() instanceof Ocloc.Probe.Found;
        if (!hasOcloc) {
            System.out.println("SKIPPED DegradedHitTest: ocloc and driver, " + INSTALL);
        }
        assumeTrue(hasOcloc, "ocloc, " + INSTALL);
        String stored = run("store", backend.path(), machine(name));
        assumeTrue(!stored.contains("missing="), stored + " " + INSTALL);
        assertTrue(stored.contains("stored=Stored"), stored);
    }

    /** Checks source, origin and number of degraded hits of a lookup in a new process. */
    private static void assertOutcome(String expected, String output) {
        assertEquals(
                expected,
                DriverProcess.value(output, "source") + " "
                        + DriverProcess.value(output, "origin") + " "
                        + DriverProcess.value(output, "recompiled"),
                output);
    }

    @Test
    @Tag("exhaustive") // by default LevelZeroLookupTest
    @DisplayName("a binary that Intel's driver compiles again is counted and stored anew: the"
            + " next process restores it")
    void recompiled() throws Exception {
        recompiled(Backend.OPENCL);
    }

    @Test
    @Tag("exhaustive")
    @DisplayName("the same with Level Zero")
    void recompiledByLevelZero() throws Exception {
        recompiled(Backend.LEVEL_ZERO);
    }

    private void recompiled(Backend backend) throws Exception {
        store(backend, "local");
        assertOutcome("LOCAL RECOMPILED 1", run("lookup", backend.path(), machine("local")));
        assertOutcome("LOCAL RESTORED 0", run("lookup", backend.path(), machine("local")));
    }
}
