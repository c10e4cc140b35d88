package dev.granary.cache.memory;

import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.testing.ChildJvm;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

import java.util.List;

/**
 * A model check of single flight in a child JVM, because the model checker needs sun.misc.Unsafe
 * and agents.
 */
@Tag("exhaustive")
class SingleFlightLinearizabilityTest {
    @Test
    @DisplayName("get, peek, size and failing builds are linearizable under Lincheck's model"
            + " checker; without single flight it finds a second build")
    void modelChecked() throws Exception {
        List<String> lines = ChildJvm.of(SingleFlightModel.class)
                .flags("--sun-misc-unsafe-memory-access=allow", "-XX:+EnableDynamicAgentLoading")
                .run()
                .lines();
        assertTrue(
                lines.contains("one key: " + SingleFlightModel.LINEARIZABLE),
                () -> String.join("\n", lines));
        assertTrue(
                lines.contains("cache: " + SingleFlightModel.LINEARIZABLE),
                () -> String.join("\n", lines));
        assertTrue(
                lines.contains("without single flight: " + SingleFlightModel.NOT_LINEARIZABLE),
                () -> String.join("\n", lines));
    }
}
