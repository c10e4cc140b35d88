package dev.granary.demo;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.gson.Gson;

import dev.granary.demo.DemoRoleResult.ConstantsResult;
import dev.granary.demo.DemoRoleResult.KernelResult;
import dev.granary.demo.DemoRoleResult.TuningResult;

import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import java.util.List;

/** Tests of the judgement on a machine of the demo. */
class DemoRoleResultTest {
    private static final KernelResult SAXPY =
            new KernelResult("saxpy", "bucket", 10, 1.5, true, "");

    private static DemoRoleResult role(@Nullable TuningResult tuning) {
        return new DemoRoleResult(
                "node", "cpu", true, List.of(SAXPY), tuning, 0, ConstantsResult.NONE, 100, 1.5);
    }

    private static TuningResult tuned(String source, int tried, boolean isRight) {
        KernelResult kernel = new KernelResult("gemm", source, 10, 2, isRight, "");
        return new TuningResult(kernel, source, tried, 18, 3);
    }

    @Test
    @DisplayName("P12 a machine that tried a plan, compiled the tuned kernel, or got a wrong result"
            + " from it, is not served")
    void tuned() {
        assertTrue(role(tuned("bucket", 0, true)).isServedWithoutCompiling());
        assertFalse(role(tuned("bucket", 1, true)).isServedWithoutCompiling());
        assertFalse(role(tuned("compiled", 0, true)).isServedWithoutCompiling());
        assertFalse(role(tuned("failed", 0, true)).isServedWithoutCompiling());
        assertFalse(role(tuned("bucket", 0, false)).isServedWithoutCompiling());
        assertTrue(role(tuned("compiled", 1, true)).isRight());
        assertFalse(role(tuned("compiled", 1, false)).isRight());
    }

    @Test
    @DisplayName("The result of a process is the same after its transfer, with a tuning or without")
    void transferred() {
        for (DemoRoleResult role : List.of(role(null), role(tuned("local", 0, true)))) {
            assertEquals(role, new Gson().fromJson(new Gson().toJson(role), DemoRoleResult.class));
        }
        assertEquals(1, role(null).all().size());
        assertEquals(2, role(tuned("local", 0, true)).verified());
    }
}
