package dev.granary.it;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.gson.JsonObject;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

import java.util.Map;

/** Test of the demo as a user runs it. */
@ExtendWith(WithDevice.class)
class DemoTest {
    @Test
    @DisplayName(
            "N1 R1 M15 the demo: ci compiles, node and laptop compile nothing, packed weights are"
                    + " made once, every result is right")
    void demo() throws Exception {
        GranaryProcess.Result demo = GranaryProcess.run(Map.of(), "demo", "--json");
        assertEquals(0, demo.exitCode(), demo::toString);
        JsonObject result = demo.json();
        int kernels = result.get("kernels").getAsInt();
        assertTrue(kernels >= 14, demo::toString);
        checkRole(result, 0, "ci", "compiled", kernels);
        checkRole(result, 1, "node", "bucket", kernels);
        checkRole(result, 2, "laptop", "local", kernels);
        assertEquals(kernels, result.getAsJsonArray("results").size());
    }

    private static void checkRole(
            JsonObject result, int index, String name, String source, int kernels) {
        JsonObject role = result.getAsJsonArray("roles").get(index).getAsJsonObject();
        assertEquals(name, role.get("role").getAsString());
        for (String other : new String[] {"compiled", "bucket", "local"}) {
            assertEquals(
                    other.equals(source) ? kernels : 0,
                    role.get(other).getAsInt(),
                    name + " " + other);
        }
        assertEquals(kernels, role.get("memory").getAsInt(), name);
        assertEquals(kernels, role.get("verified").getAsInt(), name);
        assertEquals(1, role.get("constantsMade").getAsInt(), name);
        assertEquals(3, role.get("constantsReused").getAsInt(), name);
        assertTrue(role.get("constantsRight").getAsBoolean(), name);
    }
}
