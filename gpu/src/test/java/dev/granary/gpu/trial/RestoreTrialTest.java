package dev.granary.gpu.trial;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeFalse;

import dev.granary.cache.Backend;
import dev.granary.cache.KernelBinaries;
import dev.granary.cache.Target;
import dev.granary.gpu.opencl.OpenCl;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import java.io.IOException;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;

/**
 * Trials of restores in real processes. Binaries on which a driver ends its process are in
 * {@code DeadlyEntryTest} (it).
 */
class RestoreTrialTest {
    private static final Duration LIMIT = Duration.ofMinutes(2);
    private static final KernelBinaries ANY = KernelBinaries.of(new byte[] {1, 2, 3});

    @Test
    @DisplayName("N7 a driver that refuses binaries in order survives the trial")
    void refused() throws Exception {
        assumeFalse(
                OpenCl.devices().isEmpty(), "no OpenCL device: apt-get install pocl-opencl-icd");
        assertEquals(
                new RestoreTrial.Outcome.Survived(),
                RestoreTrial.run(
                        OpenCl.devices().getFirst().target(), List.of("first"), ANY, LIMIT));
    }

    @Test
    @DisplayName("N7 without a device of the target nothing is tried, and the cause names it")
    void noDevice() throws Exception {
        for (Backend backend : Backend.values()) {
            Target none = new Target(backend, "acme", "gpu one", "1.0");
            String cause = assertInstanceOf(
                            RestoreTrial.Outcome.Impossible.class,
                            RestoreTrial.run(none, List.of(), ANY, LIMIT))
                    .cause();
            assertTrue(cause.contains("no device has the target " + none.path()), cause);
        }
    }

    @Test
    @DisplayName("N7 a process without an end within the limit is killed")
    void overdue() throws Exception {
        String cause = assertInstanceOf(
                        RestoreTrial.Outcome.Impossible.class,
                        RestoreTrial.run(
                                new Target(Backend.OPENCL, "acme", "gpu one", "1.0"),
                                List.of(),
                                ANY,
                                Duration.ofMillis(1)))
                .cause();
        assertTrue(cause.startsWith("no end within 0 s"), cause);
    }

    @Test
    @DisplayName("The input of a trial is read as it was written; a truncated one is not")
    void input() throws Exception {
        TrialInput input = new TrialInput(
                "opencl/x", List.of("first", "zweite\u00e4"), KernelBinaries.of(new byte[70_000]));
        assertEquals(input, TrialInput.decode(input.encode()));
        byte[] encoded = input.encode();
        assertThrows(IOException.class, () -> TrialInput.decode(Arrays.copyOf(encoded, 9)));
    }
}
