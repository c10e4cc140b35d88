package dev.granary.it.crash;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.granary.testing.TestRuns;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.SplittableRandom;

/** Short run of the crash benchmark. */
final class CrashCampaignTest {
    private static final int KILLS = TestRuns.count(6);
    private static final long SEED = 1;

    @TempDir
    private Path temporary;

    @ParameterizedTest(name = "{0}")
    @EnumSource(CrashMode.class)
    @Timeout(600)
    @DisplayName("processes are killed at random moments: nothing acknowledged is lost,"
            + " nothing is wrong, stuck or left over")
    void killed(CrashMode mode) throws Exception {
        PrintWriter progress = new PrintWriter(System.err, true, UTF_8);
        CrashRun run = new CrashRun(
                        mode,
                        temporary.resolve("cache"),
                        KILLS,
                        KILLS,
                        new SplittableRandom(SEED),
                        progress)
                .run();
        assertTrue(run.isClean(), () -> run.json().toString());
        assertEquals(KILLS, run.json().get("killed").getAsInt());
        assertTrue(run.json().get("acknowledged").getAsLong() > 0, "something was stored");
    }
}
