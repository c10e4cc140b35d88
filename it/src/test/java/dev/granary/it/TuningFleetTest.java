package dev.granary.it;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.google.gson.JsonObject;

import dev.granary.s3.contract.TestS3;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import java.util.UUID;

/** Tests of tuning with real processes on several machines. */
@ExtendWith(WithDevice.class)
class TuningFleetTest {
    private static final String PLAN = """
            kernel = "scale"
            logic = "Y[i] = X[i] * 2"
            bind = { group-x = "i", item-x = "ii" }

            [space.parameter]
            tile = [2, 4, 8]

            [[array]]
            name = "X"
            shape = [100]

            [[array]]
            name = "Y"
            role = "output"
            shape = [100]

            [[loop]]
            index = "i"
            iterations = 100

            [[split]]
            index = "i"
            size = "$tile"
            """;

    @TempDir
    private Path directory = Path.of("");

    private GranaryProcess.Result run(
            Map<String, String> stores, String machine, String... arguments) throws Exception {
        Map<String, String> variables = new HashMap<>(stores);
        variables.put("GRANARY_DIR", directory.resolve(machine).toString());
        return GranaryProcess.run(variables, arguments);
    }

    private static JsonObject ended(GranaryProcess.Result result) {
        assertEquals(0, result.exitCode(), result::toString);
        return result.json();
    }

    @Test
    @Tag("exhaustive")
    @DisplayName("one machine tunes: the others get outcome and kernel from the bucket, and"
            + " later from their disks")
    void onlyOnce() throws Exception {
        // the name keeps the outcomes of other runs apart, on a server that stays
        String name = "scale_" + UUID.randomUUID().toString().substring(0, 8);
        String plan = Files.writeString(
                        directory.resolve("scale.toml"),
                        PLAN.replace("\"scale\"", '"' + name + '"'))
                .toString();
        Map<String, String> online = TestS3.server().environment();
        JsonObject tuned = ended(run(online, "ci", "tune", plan, "--json", "--seed", "3"));
        assertEquals("tuned", tuned.get("from").getAsString());
        assertEquals("compiled", tuned.get("kernelFrom").getAsString());
        assertEquals(3, tuned.get("measured").getAsInt() + tuned.get("slow").getAsInt());

        JsonObject node = ended(run(online, "node", "tune", plan, "--json"));
        assertEquals("bucket", node.get("from").getAsString());
        assertEquals("bucket", node.get("kernelFrom").getAsString());
        assertEquals(tuned.get("parameters"), node.get("parameters"));
        assertEquals(3, node.get("seed").getAsInt());

        JsonObject offline = ended(run(Map.of(), "node", "tune", plan, "--json"));
        assertEquals("local", offline.get("from").getAsString());
        assertEquals("local", offline.get("kernelFrom").getAsString());

        JsonObject published = ended(run(online, "other", "tune", plan, "--publish", "--json"));
        assertEquals("stored", published.get("from").getAsString());
        assertEquals("bucket", published.get("kernelFrom").getAsString());
    }
}
