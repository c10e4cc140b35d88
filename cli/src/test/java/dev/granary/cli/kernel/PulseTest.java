package dev.granary.cli.kernel;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.granary.cache.Backend;
import dev.granary.cache.Target;
import dev.granary.cli.kernel.KernelRunner.Pulse;
import dev.granary.testing.TestTicker;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;

/** Tests of the lines and publications while kernels are compiled. */
class PulseTest {
    private static final Target TARGET = new Target(Backend.OPENCL, "v", "d", "1");

    private final TestTicker ticker = new TestTicker();
    private final List<String> events = new ArrayList<>();
    private final Pulse pulse = new Pulse(3, ticker, events::add, () -> events.add("published"));

    private static Optional<KernelResult> result(String name, Outcome outcome) {
        return Optional.of(new KernelResult(
                name,
                TARGET,
                outcome,
                Optional.empty(),
                OptionalInt.empty(),
                Optional.empty(),
                Duration.ZERO,
                Duration.ZERO,
                0,
                outcome.isSuccess() ? "" : "why",
                Optional.empty()));
    }

    private List<String> after(Duration time, Optional<KernelResult> result) {
        ticker.pass(time);
        events.clear();
        pulse.accept(result);
        return List.copyOf(events);
    }

    @Test
    @DisplayName("a line per failure at once, and one per 30 s with the progress")
    void lines() {
        assertEquals(List.of(), after(Duration.ofSeconds(1), result("a", Outcome.COMPILED)));
        assertEquals(
                List.of("b for " + TARGET.path() + ": crashed: why"),
                after(Duration.ofSeconds(1), result("b", Outcome.CRASHED)));
        assertEquals(
                List.of("populating: 2 of 3 kernels, 1 failed"),
                after(Duration.ofSeconds(28), Optional.empty()));
        assertEquals(List.of(), after(Duration.ofSeconds(29), Optional.empty()));
        assertEquals(
                List.of("populating: 2 of 3 kernels, 1 failed"),
                after(Duration.ofSeconds(1), Optional.empty()));
    }

    @Test
    @DisplayName("what is compiled is published every two minutes, and nothing if there is none")
    void publications() {
        after(Duration.ofMinutes(1), result("a", Outcome.COMPILED));
        assertEquals(
                List.of("populating: 1 of 3 kernels, 0 failed", "published"),
                after(Duration.ofMinutes(1), Optional.empty()));
        assertEquals(
                List.of("populating: 1 of 3 kernels, 0 failed"),
                after(Duration.ofMinutes(9), Optional.empty()));
        assertEquals(
                List.of("published"), after(Duration.ofSeconds(1), result("b", Outcome.COMPILED)));
    }
}
