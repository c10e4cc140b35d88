package dev.granary.it;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.google.gson.JsonObject;

import dev.granary.s3.contract.FaultyS3;
import dev.granary.s3.contract.S3Request;
import dev.granary.s3.embedded.EmbeddedS3;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

import java.nio.file.Path;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

/** End-to-end tests with packs, real processes and a real driver. A proxy records every request. */
@ExtendWith(WithDevice.class)
class EndToEndPacksTest {
    private static final String RANGE = "GET range pack";

    @TempDir
    private Path directory = Path.of("");

    @Test
    @Tag("exhaustive") // by default in one process: WarmingTest, PopulateTest
    @DisplayName("populated in a pack: a warmed node sends no request; a cold one sends one"
            + " per kernel, and reads the pack list once")
    void populateWarmRun() throws Exception {
        populateWarmRun(false);
    }

    @Test
    @Tag("exhaustive")
    @DisplayName("the same, and a cold node with the pack list on its disk sends one request per"
            + " kernel")
    void populateWarmRunAgain() throws Exception {
        populateWarmRun(true);
    }

    private void populateWarmRun(boolean isRepeated) throws Exception {
        try (EmbeddedS3 server = EmbeddedS3.start(null);
                FaultyS3 proxy = FaultyS3.inFrontOf(server)) {
            server.createBucket("kernels");
            Map<String, String> online = Map.of(
                    "GRANARY_BUCKET", "s3://kernels/packed",
                    "GRANARY_S3_ENDPOINT", proxy.endpoint().toString(),
                    "AWS_ACCESS_KEY_ID", server.accessKey(),
                    "AWS_SECRET_ACCESS_KEY", server.secretKey(),
                    "AWS_REGION", "us-east-1");

            GranaryProcess.Result ci =
                    run(online, "ci", "populate", "--jobs", "1", TestManifests.manifest());
            assertEquals(
                    List.of(0, TestManifests.COUNT),
                    List.of(ci.exitCode(), ci.summary("compiled")),
                    ci::toString);
            assertEquals(
                    TestManifests.COUNT,
                    ci.json().getAsJsonObject("published").get("stored").getAsInt(),
                    ci::toString);
            List<String> published = requests(proxy, 0)
                    .filter(request -> request.startsWith("PUT")
                            && !request.contains("trial")
                            && !request.contains("/c/")) // claims of what takes long to compile
                    .toList();
            assertEquals(
                    List.of(
                            "PUT none-match marker",
                            "PUT match marker",
                            "PUT none-match head",
                            "PUT none-match pack",
                            "PUT match head"),
                    published);

            int before = proxy.requests();
            GranaryProcess.Result warm = run(online, "node", "warm");
            assertEquals(0, warm.exitCode(), warm::toString);
            JsonObject warmed = warm.json().getAsJsonArray("warmed").get(0).getAsJsonObject();
            assertEquals(
                    List.of(TestManifests.COUNT, 4),
                    List.of(
                            warmed.get("installed").getAsInt(),
                            warmed.get("requests").getAsInt()),
                    warm::toString);
            assertEquals(
                    List.of("GET head", RANGE, "LIST entry", RANGE),
                    requests(proxy, before).toList());

            before = proxy.requests();
            GranaryProcess.Result node = run(online, "node", "get", TestManifests.manifest());
            assertEquals(
                    List.of(0, 0, TestManifests.COUNT),
                    List.of(node.exitCode(), node.summary("compiled"), node.summary("local")),
                    node::toString);
            assertEquals(List.of(), requests(proxy, before).toList());

            before = proxy.requests();
            GranaryProcess.Result cold = run(online, "cold", "get", TestManifests.manifest());
            assertEquals(
                    List.of(0, TestManifests.COUNT),
                    List.of(cold.summary("compiled"), cold.summary("bucket")),
                    cold::toString);
            List<String> ranges = Collections.nCopies(TestManifests.COUNT, RANGE);
            assertEquals(
                    Stream.concat(Stream.of("GET head", RANGE), ranges.stream()).toList(),
                    requests(proxy, before).toList());

            if (!isRepeated) {
                return;
            }
            assertEquals(0, run(Map.of(), "cold", "evict", "--all", "--yes").exitCode());
            before = proxy.requests();
            GranaryProcess.Result second = run(online, "cold", "get", TestManifests.manifest());
            assertEquals(TestManifests.COUNT, second.summary("bucket"), second::toString);
            assertEquals(
                    ranges,
                    requests(proxy, before).toList(),
                    "the list of packs is cached on the disk");
        }
    }

    private static Stream<String> requests(FaultyS3 proxy, int from) {
        List<FaultyS3.Exchange> all = proxy.exchanges();
        return all.subList(from, all.size()).stream()
                .map(FaultyS3.Exchange::request)
                .filter(request -> !request.key().contains("/use/")) // a note of each machine
                .map(EndToEndPacksTest::name);
    }

    private static String name(S3Request request) {
        String key = request.key();
        return request.operation() + " "
                + (key.endsWith("/head")
                        ? "head"
                        : key.contains("/m/")
                                ? "base"
                                : key.contains("/p/")
                                        ? "pack"
                                        : key.contains("/e/")
                                                ? "entry"
                                                : key.endsWith("/granary.json") ? "marker" : key);
    }

    private GranaryProcess.Result run(
            Map<String, String> stores, String machine, String command, String... arguments)
            throws Exception {
        Map<String, String> variables = new HashMap<>(stores);
        variables.put("GRANARY_DIR", directory.resolve(machine).toString());
        return GranaryProcess.run(
                variables,
                Stream.concat(Stream.of(command, "--json"), Stream.of(arguments))
                        .toArray(String[]::new));
    }
}
