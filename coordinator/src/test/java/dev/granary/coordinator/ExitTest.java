package dev.granary.coordinator;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.coordinator.ExitProcess.End;
import dev.granary.coordinator.statistics.Counter;
import dev.granary.testing.ChildJvm;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import java.nio.file.Files;
import java.nio.file.Path;

/** Tests of processes that end without closing their cache. */
class ExitTest {
    private static final int KILLED = 128 + 15; // by SIGTERM

    private final Path directory;

    ExitTest(@TempDir Path directory) {
        this.directory = directory.resolve("local");
    }

    /** Runs a process to its end, and returns its error output. */
    private String run(End end, int exitCode) throws Exception {
        ChildJvm.Result result =
                ChildJvm.of(ExitProcess.class).shortLived().run(directory.toString(), end.name());
        assertEquals(exitCode, result.exitCode(), result::toString);
        return result.err();
    }

    private void assertStored(int kernels) throws Exception {
        FakeEngine engine = new FakeEngine("two");
        TestNode node = new TestNode(directory, new FakeBucket());
        try (Granary granary = node.openWithoutBucket()) {
            for (int i = 0; i < ExitProcess.KERNELS; i++) {
                granary.primitive(engine, FakeDescriptor.of("kernel " + i));
            }
            assertEquals(kernels, granary.statistics().count(Counter.LOCAL_HITS));
            assertEquals(0, granary.statistics().count(Counter.LOCAL_DAMAGED));
        }
    }

    @ParameterizedTest
    @EnumSource(names = {"MAIN_RETURNS", "SYSTEM_EXIT", "SIGTERM"})
    @DisplayName("All kernels of a process that does not close are stored and recorded at its exit")
    void stored(End end) throws Exception {
        int exitCode =
                switch (end) {
                    case SYSTEM_EXIT -> 3;
                    case SIGTERM -> KILLED;
                    default -> 0;
                };
        String errors = run(end, exitCode);
        assertEquals("", errors);
        assertStored(ExitProcess.KERNELS);
        assertEquals(
                ExitProcess.KERNELS,
                Files.readAllLines(ExitProcess.recording(directory)).stream()
                        .filter(line -> line.contains("Not recorded: kernel "))
                        .count());
    }

    @Test
    @DisplayName("A killed process leaves no damage; its kernels are compiled again")
    void killed() throws Exception {
        run(End.HALTS, 4);
        assertStored(0);
    }

    @Test
    @DisplayName(
            "A driver that hangs delays the exit by the flush limit only; what is lost is said")
    void hangs() throws Exception {
        String errors = run(End.DRIVER_HANGS, 0);
        assertTrue(
                errors.contains("The process ends without Granary.close(): 30 kernels are not"
                        + " stored after 1 s"),
                errors);
    }
}
