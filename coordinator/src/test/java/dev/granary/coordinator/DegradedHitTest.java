package dev.granary.coordinator;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.granary.cache.Backend;
import dev.granary.gpu.DriverProcess;
import dev.granary.gpu.offline.Ocloc;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import java.nio.file.Path;
import java.util.Map;

/** Tests of hits that Intel's driver compiles again from the SPIR-V in a binary. */
class DegradedHitTest {
    private static final String INSTALL = "on Debian: apt-get install intel-opencl-icd libze1";

    @TempDir
    Path directory;

    private String run(String mode, Backend backend) throws Exception {
        return DriverProcess.of(DegradedHitProgram.class, directory)
                .variables(Map.of(
                        "NEOReadDebugKeys", "1",
                        "SetCommandStreamReceiver", "1",
                        "ProductFamilyOverride", "tgllp",
                        "NEO_CACHE_PERSISTENT", "0"))
                .run(mode, backend.path(), directory.resolve("local").toString())
                .output();
    }

    @ParameterizedTest
    @EnumSource
    @DisplayName("N8 a binary that Intel's driver compiles again is counted and stored anew: the"
            + " next process restores it")
    void recompiled(Backend backend) throws Exception {
        boolean hasOcloc = Ocloc.probe() instanceof Ocloc.Probe.Found;
        if (!hasOcloc) {
            System.out.println("SKIPPED DegradedHitTest: ocloc and driver, " + INSTALL);
        }
        assumeTrue(hasOcloc, "ocloc, " + INSTALL);
        String stored = run("store", backend);
        assumeTrue(!stored.contains("missing="), stored + " " + INSTALL);
        assertTrue(stored.contains("stored=Stored"), stored);

        String first = run("lookup", backend);
        assertEquals("LOCAL", DriverProcess.value(first, "source"));
        assertEquals("RECOMPILED", DriverProcess.value(first, "origin"));
        assertEquals("1", DriverProcess.value(first, "recompiled"));

        String second = run("lookup", backend);
        assertEquals("LOCAL", DriverProcess.value(second, "source"));
        assertEquals("RESTORED", DriverProcess.value(second, "origin"));
        assertEquals("0", DriverProcess.value(second, "recompiled"));
    }
}
