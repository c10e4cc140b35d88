package dev.granary.it;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;

import dev.granary.s3.contract.FaultyS3;
import dev.granary.s3.embedded.EmbeddedS3;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;

/** Machines that start at once on a prefix that has nothing yet. */
@ExtendWith(WithDevice.class)
class FreshPrefixTest {
    private static final int MACHINES = 8;
    private static final int KERNELS = 10;

    @TempDir
    private Path directory = Path.of("");

    @Test
    @Tag("exhaustive")
    @DisplayName("8 machines on a fresh prefix: no process probes, and each publication is one PUT")
    void fleet() throws Exception {
        StringBuilder manifest = new StringBuilder();
        for (int i = 0; i < KERNELS; i++) {
            Files.writeString(
                    directory.resolve("k" + i + ".cl"),
                    "__kernel void k" + i + "(__global float *a) { a[get_global_id(0)] += " + i
                            + ".0f; }\n");
            manifest.append("[[kernel]]\nname = 'k" + i + "'\nsource = 'k" + i + ".cl'\n");
        }
        Path kernels = Files.writeString(directory.resolve("kernels.toml"), manifest);
        try (EmbeddedS3 server = EmbeddedS3.start(null);
                FaultyS3 proxy = FaultyS3.inFrontOf(server)) {
            server.createBucket("kernels");
            List<GranaryProcess> machines = new ArrayList<>();
            for (int i = 0; i < MACHINES; i++) {
                Map<String, String> variables = new HashMap<>(Map.of(
                        "GRANARY_BUCKET", "s3://kernels/fresh",
                        "GRANARY_S3_ENDPOINT", proxy.endpoint().toString(),
                        "AWS_ACCESS_KEY_ID", server.accessKey(),
                        "AWS_SECRET_ACCESS_KEY", server.secretKey(),
                        "AWS_REGION", "us-east-1"));
                variables.put("GRANARY_DIR", directory.resolve("machine" + i).toString());
                machines.add(GranaryProcess.start(variables, "get", "--json", kernels.toString()));
            }
            int compiled = 0;
            int waited = 0;
            for (GranaryProcess machine : machines) {
                GranaryProcess.Result end = machine.end();
                assertEquals(0, end.exitCode(), end::toString);
                compiled += end.summary("compiled");
                for (JsonElement each : end.json().getAsJsonArray("results")) {
                    JsonObject result = each.getAsJsonObject();
                    boolean hasWaited = !result.get("waited").isJsonNull();
                    waited += hasWaited ? 1 : 0;
                    assertTrue(
                            !hasWaited || result.get("outcome").getAsString().equals("bucket"),
                            result::toString);
                }
            }
            List<String> keys = proxy.exchanges().stream()
                    .map(exchange -> exchange.request().key())
                    .toList();
            assertTrue(
                    keys.stream()
                            .noneMatch(
                                    key -> key.contains("trial") || key.endsWith("granary.json")),
                    keys::toString);
            System.out.println("granary.fresh-prefix: " + MACHINES + " machines, " + KERNELS
                    + " kernels: " + compiled + " compiles, " + waited + " waits with success, "
                    + keys.size() + " requests "
                    + proxy.exchanges().stream()
                            .collect(Collectors.groupingBy(
                                    exchange -> exchange.request().operation(),
                                    TreeMap::new,
                                    Collectors.counting())));
        }
    }
}
