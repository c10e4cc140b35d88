package dev.granary.coordinator.lookup;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.cache.Entry;
import dev.granary.cache.Id;
import dev.granary.cache.KernelBinaries;
import dev.granary.cache.contract.TestEntries;
import dev.granary.coordinator.session.ProcessSession;
import dev.granary.coordinator.session.RestoreQuarantine;
import dev.granary.gpu.spirv.IntermediateDescriptor;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.Optional;

/**
 * Decisions of trials for entries of a target without a device. Trials on a real driver are in
 * {@code DeadlyEntryTest} (it).
 */
class RestoreTrialsTest {
    private final Entry foreign = new TestEntries("RestoreTrialsTest").entry(100);
    private Instant now = Instant.parse("2026-11-23T08:00:00Z");

    @TempDir
    private Path directory = Path.of("");

    @Test
    @DisplayName(
            "N7 an entry that cannot be tried must not be restored, and is not in quarantine; one"
                    + " that has passed is not tried for 90 days, also in other processes")
    void decisions() throws Exception {
        try (ProcessSession session = ProcessSession.begin(directory);
                RestoreQuarantine quarantine =
                        new RestoreQuarantine(directory, session, () -> now)) {
            String problem = problem(quarantine).orElseThrow();
            assertTrue(
                    problem.startsWith("its restore could not be tried: exit code 1: no device"),
                    problem);
            assertFalse(quarantine.contains(foreign));
            quarantine.addPassed(foreign);
            assertEquals(Optional.empty(), problem(quarantine));
            RestoreQuarantine other = new RestoreQuarantine(directory, session, () -> now);
            assertEquals(Optional.empty(), problem(other));
            now = now.plus(Duration.ofDays(91));
            assertTrue(problem(other).isPresent(), "90 days have passed");
        }
    }

    @Test
    @DisplayName(
            "N7 N13 an intermediate program of another machine is not used while trials are on,"
                    + " since none of them compiles it")
    void intermediate() {
        Entry program = TestEntries.entry(
                Id.builder(IntermediateDescriptor.TARGET)
                        .field("kind", "intermediate")
                        .build(),
                KernelBinaries.of(new byte[] {1}));
        assertEquals(
                Optional.of("no trial tells whether a driver survives an intermediate program"),
                new RestoreTrials(Optional.empty())
                        .problem(program, IntermediateDescriptor.TARGET));
    }

    private Optional<String> problem(RestoreQuarantine quarantine) {
        return new RestoreTrials(Optional.of(quarantine)).problem(foreign, TestEntries.TARGET);
    }
}
