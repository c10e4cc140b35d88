package dev.granary.cli.kernel;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import java.util.List;

/** Tests of the cause that is reported for the end of a compiler process. */
class CompilerDeathTest {
    @Test
    @DisplayName("A crash that the JVM reports has signal and library")
    void crash() {
        assertEquals(
                "the compiler crashed: SIGSEGV (0xb) at pc=0x00007f, pid=1, tid=2, in C"
                        + " [libLLVM-14.so.1+0x9a2]",
                CompilerProcesses.causeOfDeath(
                        134,
                        List.of(
                                "noise",
                                "# A fatal error has been detected by the Java Runtime"
                                        + " Environment:",
                                "#  SIGSEGV (0xb) at pc=0x00007f, pid=1, tid=2",
                                "# JRE version: OpenJDK Runtime Environment (25.0)",
                                "# Problematic frame:",
                                "# C  [libLLVM-14.so.1+0x9a2]",
                                "# If you would like to submit a bug report")));
    }

    @Test
    @DisplayName("Other ends have the signal or the exit code, and the last line of the output")
    void others() {
        assertEquals(
                "the compiler process was killed by signal 6 (SIGABRT): pocl: assertion failed",
                CompilerProcesses.causeOfDeath(134, List.of("first", " pocl: assertion failed ")));
        assertEquals(
                "the compiler process was killed by signal 64",
                CompilerProcesses.causeOfDeath(192, List.of()));
        assertEquals(
                "the compiler process ended with exit code 1: LLVM ERROR: out of memory",
                CompilerProcesses.causeOfDeath(1, List.of("LLVM ERROR: out of memory")));
        assertEquals(
                "the compiler process was killed by signal 1",
                CompilerProcesses.causeOfDeath(129, List.of()));
        assertEquals(
                "the compiler process ended with exit code 128",
                CompilerProcesses.causeOfDeath(128, List.of()));
        assertEquals(
                "the compiler process ended with exit code 193",
                CompilerProcesses.causeOfDeath(193, List.of()));
        assertEquals(
                "the compiler process ended with exit code 255: cannot open",
                CompilerProcesses.causeOfDeath(255, List.of("cannot open")));
        assertEquals(
                "the compiler process ended with exit code 0",
                CompilerProcesses.causeOfDeath(0, List.of()));
    }

    @Test
    @DisplayName("A kill has the hint that memory may be short")
    void killed() {
        assertEquals(
                "the compiler process was killed by signal 9 (SIGKILL), as the system does when"
                        + " memory is short; if so, use fewer --jobs",
                CompilerProcesses.causeOfDeath(137, List.of("ignored")));
    }
}
