package dev.granary.demo;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.gson.Gson;

import dev.granary.demo.MachineResult.ProgramResult;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import java.util.List;

/** Tests of the judgement on a machine of the demo. */
class MachineResultTest {
    private static MachineResult machine(
            int compiled, int plansTried, int constantsMade, String problem) {
        return new MachineResult(
                new MachineResult.Summary(
                        "node",
                        compiled,
                        1,
                        0,
                        1,
                        "bucket",
                        plansTried,
                        constantsMade,
                        3,
                        true,
                        1,
                        2),
                List.of(new ProgramResult("gemm", "bucket", 10, 2, problem)),
                "cpu",
                true,
                3,
                "");
    }

    @Test
    @DisplayName("A machine that compiled a program, tried a plan, made constants twice, or got a"
            + " wrong result, is not served")
    void served() {
        assertTrue(machine(0, 0, 1, "").isServed());
        assertFalse(machine(1, 0, 1, "").isServed());
        assertFalse(machine(0, 1, 1, "").isServed());
        assertFalse(machine(0, 0, 2, "").isServed());
        assertFalse(machine(0, 0, 1, "element 0").isServed());
        assertTrue(machine(1, 1, 1, "").isRight());
        assertFalse(machine(1, 1, 1, "element 0").isRight());
    }

    @Test
    @DisplayName("The result of a process is the same after its transfer")
    void transferred() {
        MachineResult machine = machine(0, 0, 1, "");
        assertEquals(machine, new Gson().fromJson(new Gson().toJson(machine), MachineResult.class));
    }
}
