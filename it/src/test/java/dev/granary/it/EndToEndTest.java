package dev.granary.it;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;

import dev.granary.cache.Entry;
import dev.granary.cache.LoadResult;
import dev.granary.cache.contract.StoredEntry;
import dev.granary.cache.format.EntryFormat;
import dev.granary.cache.format.EntryFormat.VerificationLevel;
import dev.granary.s3.contract.TestS3;
import dev.granary.s3.embedded.EmbeddedS3;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * End-to-end tests with real processes: each kernel is compiled once, and never again on any
 * machine.
 */
@ExtendWith(WithDevice.class)
class EndToEndTest {
    @TempDir
    private Path directory = Path.of("");

    @Test
    @Tag("exhaustive") // by default EndToEndPacksTest, and PopulateTest offline
    @DisplayName("what CI compiled, a node gets from the bucket and a laptop from its disk; no"
            + " machine compiles again")
    void compiledOnce() throws Exception {
        compiledOnce("aws");
    }

    @Test
    @Tag("exhaustive")
    @DisplayName("the same with the MinIO client")
    void compiledOnceWithMinio() throws Exception {
        compiledOnce("minio");
    }

    private void compiledOnce(String client) throws Exception {
        Map<String, String> online = new HashMap<>(TestS3.server().environment());
        online.put("GRANARY_S3_CLIENT", client);

        GranaryProcess.Result ci = run(online, "ci", "populate");
        assertEquals(0, ci.exitCode(), ci::toString);
        assertEquals(TestManifests.COUNT, ci.summary("compiled"), ci::toString);
        assertEquals(
                TestManifests.COUNT,
                ci.json().getAsJsonObject("published").get("stored").getAsInt(),
                ci::toString);

        GranaryProcess.Result node = run(online, "node", "get");
        assertEquals(0, node.exitCode(), node::toString);
        assertEquals(TestManifests.COUNT, node.summary("bucket"), node::toString);
        assertEquals(ids(ci), ids(node));
        assertTrue(
                geometries("node").contains("scale@1024/64"),
                "the entry contains the geometry that it covers");

        GranaryProcess.Result offline = run(Map.of(), "node", "get");
        assertEquals(0, offline.exitCode(), offline::toString);
        assertEquals(TestManifests.COUNT, offline.summary("local"), offline::toString);
    }

    /** Returns the geometries that the stored entries of a machine cover. */
    private List<String> geometries(String machine) throws IOException {
        List<String> geometries = new ArrayList<>();
        for (StoredEntry stored : StoredEntry.in(directory.resolve(machine))) {
            if (EntryFormat.decode(
                            MemorySegment.ofArray(stored.bytes()), VerificationLevel.CONTENT_HASH)
                    instanceof LoadResult.Hit(Entry entry)) {
                geometries.addAll(entry.metadata().orElseThrow().geometries());
            }
        }
        return geometries;
    }

    @Test
    @Tag("exhaustive")
    @DisplayName("unpacked: at the server, a publish is one PUT and one GET of the hint, a bucket"
            + " hit one GET, and a process reads packs and marker once")
    void requests() throws Exception {
        requests("aws");
    }

    @Test
    @Tag("exhaustive")
    @DisplayName("unpacked: the same requests with the MinIO client")
    void requestsWithMinio() throws Exception {
        requests("minio");
    }

    private void requests(String client) throws Exception {
        try (EmbeddedS3 server = EmbeddedS3.start(null)) {
            server.createBucket("counted");
            Map<String, String> online = Map.of(
                    "GRANARY_BUCKET",
                    "s3://counted/kernels",
                    "GRANARY_S3_ENDPOINT",
                    server.endpoint().toString(),
                    "GRANARY_S3_CLIENT",
                    client,
                    "AWS_ACCESS_KEY_ID",
                    server.accessKey(),
                    "AWS_SECRET_ACCESS_KEY",
                    server.secretKey(),
                    "AWS_REGION",
                    "us-east-1");
            GranaryProcess.Result doctor =
                    GranaryProcess.run(with(online, "admin"), "doctor", "--json");
            // probed now, not at the first publish
            assertTrue(doctor.out().contains("conditional writes: FULL"), doctor::toString);
            server.resetRequests();
            GranaryProcess.Result ci = GranaryProcess.run(
                    with(online, "ci"),
                    "populate",
                    "--unpacked",
                    "--json",
                    TestManifests.manifest());
            assertEquals(TestManifests.COUNT, ci.summary("compiled"), ci::toString);
            // an entry and its claim; none if a busy machine skips the bucket
            long puts = server.requests().put();
            assertTrue(
                    puts <= 2 * TestManifests.COUNT
                            && puts >= 2 * TestManifests.COUNT - skipped(ci),
                    () -> puts + " PUT, " + ci);
            int check = 1;
            int misses = TestManifests.COUNT;
            int readBack = TestManifests.COUNT;
            int heads = 2; // of packs: by the lookups, and to read back
            assertBetween(
                    check + misses + readBack + heads,
                    skipped(ci),
                    server.requests().get(),
                    ci);
            assertEquals(
                    server.requests().put() + server.requests().get(),
                    server.requests().total());

            server.resetRequests();
            GranaryProcess.Result node = run(online, "node", "get");
            assertEquals(0, node.exitCode(), node::toString);
            assertEquals(
                    TestManifests.COUNT,
                    node.summary("bucket") + node.summary("compiled"),
                    node::toString);
            assertTrue(
                    node.summary("compiled") <= skipped(node) + unavailable(node), node::toString);
            // One for each hit, and one for packs.
            assertBetween(
                    TestManifests.COUNT + 1,
                    skipped(node) + unavailable(node),
                    server.requests().get(),
                    node);
        }
    }

    /**
     * Checks the number of requests. A lookup that was skipped on a busy machine may have sent its
     * request or not.
     */
    private static void assertBetween(
            int max, int skipped, long gets, GranaryProcess.Result ended) {
        assertTrue(
                gets <= max && gets >= max - skipped,
                () -> gets + " GET, expected " + max + ", or up to " + skipped + " fewer: "
                        + ended);
    }

    private static int skipped(GranaryProcess.Result ended) {
        return bucket(ended, "layer-skipped");
    }

    private static int unavailable(GranaryProcess.Result ended) {
        return bucket(ended, "layer-unavailable");
    }

    private static int bucket(GranaryProcess.Result ended, String counter) {
        return ended.json()
                .getAsJsonArray("buckets")
                .get(0)
                .getAsJsonObject()
                .getAsJsonObject("counters")
                .get(counter)
                .getAsInt();
    }

    @Test
    @Tag("exhaustive")
    @DisplayName("run with a bucket that does not exist gets all kernels, ends with 0, and its"
            + " error output is one line with the cause")
    void missingBucket() throws Exception {
        Map<String, String> online = new HashMap<>(TestS3.server().environment());
        online.put(
                "GRANARY_BUCKET",
                "s3://no-such-bucket-" + Long.toHexString(System.nanoTime()) + "/x");
        GranaryProcess.Result run = run(online, "node", "get");
        assertEquals(0, run.exitCode(), run::toString);
        assertEquals(TestManifests.COUNT, run.summary("compiled"), run::toString);
        assertEquals(1, run.err().lines().count(), run::toString);
        assertTrue(run.err().contains("NoSuchBucket"), run::toString);
    }

    @Test
    @Tag("exhaustive")
    @DisplayName("two processes populate the same manifest at once: one entry per id, no error")
    void twoPopulateAtOnce() throws Exception {
        Map<String, String> online = TestS3.server().environment();
        GranaryProcess first = GranaryProcess.start(
                with(online, "first"), "populate", "--json", TestManifests.manifest());
        GranaryProcess second = GranaryProcess.start(
                with(online, "second"), "populate", "--json", TestManifests.manifest());
        GranaryProcess.Result one = first.end();
        GranaryProcess.Result two = second.end();
        assertEquals(0, one.exitCode(), one::toString);
        assertEquals(0, two.exitCode(), two::toString);
        assertEquals(ids(one), ids(two));
        for (GranaryProcess.Result each : List.of(one, two)) {
            // both may store: then each entry is in two packs, until these are compacted
            assertEquals(
                    TestManifests.COUNT,
                    published(each, "stored")
                            + published(each, "present")
                            + published(each, "divergent"),
                    each::toString);
        }
        assertEquals(0, published(one, "failed") + published(two, "failed"));

        GranaryProcess.Result list = GranaryProcess.run(
                with(online, "first"),
                "ls",
                String.valueOf(online.get("GRANARY_BUCKET")),
                "--json");
        JsonArray entries = list.json().getAsJsonArray("entries");
        assertEquals(TestManifests.COUNT, entries.size(), list::toString);
    }

    @Test
    @Tag("exhaustive")
    @DisplayName("a kernel that does not compile is reported with its log, the others are compiled,"
            + " exit code 1")
    void brokenKernel() throws Exception {
        Path manifest = directory.resolve("broken.toml");
        Files.writeString(manifest, """
            [[kernel]]
            name = "broken"
            source = "%1$s/broken.cl"
            [[kernel]]
            name = "missing"
            source = "%1$s/no-such-file.cl"
            [[kernel]]
            name = "two"
            source = "%1$s/two.cl"
            """.formatted(TestManifests.resources()));
        GranaryProcess.Result run =
                GranaryProcess.run(with(Map.of(), "broken"), "get", "--json", manifest.toString());
        assertEquals(1, run.exitCode(), run::toString);
        assertEquals(2, run.summary("failed"), run::toString);
        assertEquals(1, run.summary("compiled"), run::toString);
        JsonObject broken = run.json().getAsJsonArray("results").get(0).getAsJsonObject();
        assertEquals("failed-to-compile", broken.get("outcome").getAsString());
        assertTrue(broken.get("error").getAsString().contains("never_declared"), run::toString);
    }

    @Test
    @Tag("exhaustive")
    @DisplayName("a header edited between two builds of the same source does not hit")
    void editedHeader() throws Exception {
        Path copy = directory.resolve("copy");
        Files.createDirectories(copy.resolve("detail"));
        for (String name :
                new String[] {"scale.cl", "scale.clh", "two.cl", "detail/factor.clh", "kernels.toml"
                }) {
            Files.copy(TestManifests.resources().resolve(name), copy.resolve(name));
        }
        Map<String, String> variables = with(Map.of(), "edited");
        String manifest = copy.resolve("kernels.toml").toString();
        GranaryProcess.Result original = GranaryProcess.run(
                with(Map.of(), "edited"), "get", "--json", TestManifests.manifest());
        GranaryProcess.Result moved = GranaryProcess.run(variables, "get", "--json", manifest);
        assertEquals(ids(original), ids(moved), "the location of the files does not matter");
        assertEquals(TestManifests.COUNT, moved.summary("local"), moved::toString);

        Files.writeString(
                copy.resolve("detail/factor.clh"), "#ifndef FACTOR\n#define FACTOR 5.0f\n#endif\n");
        GranaryProcess.Result edited = GranaryProcess.run(variables, "get", "--json", manifest);
        assertEquals(1, edited.summary("compiled"), edited::toString);
        assertEquals(TestManifests.COUNT - 1, edited.summary("local"), edited::toString);
        assertNotEquals(ids(original), ids(edited));
    }

    private GranaryProcess.Result run(Map<String, String> stores, String machine, String command)
            throws Exception {
        return GranaryProcess.run(
                with(stores, machine), command, "--json", TestManifests.manifest());
    }

    private Map<String, String> with(Map<String, String> stores, String machine) {
        Map<String, String> variables = new HashMap<>(stores);
        variables.put("GRANARY_DIR", directory.resolve(machine).toString());
        return variables;
    }

    private static int published(GranaryProcess.Result populate, String counter) {
        return populate.json().getAsJsonObject("published").get(counter).getAsInt();
    }

    private static Set<String> ids(GranaryProcess.Result ended) {
        Set<String> ids = new HashSet<>();
        for (JsonElement result : ended.json().getAsJsonArray("results")) {
            ids.add(result.getAsJsonObject().get("id").getAsString());
        }
        return ids;
    }
}
