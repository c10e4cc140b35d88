package dev.granary.it;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.cache.contract.StoredEntry;
import dev.granary.s3.contract.TestS3;
import dev.granary.testing.TestSeed;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

import software.amazon.awssdk.core.sync.RequestBody;
import software.amazon.awssdk.services.s3.S3Client;
import software.amazon.awssdk.services.s3.model.S3Object;

import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.function.UnaryOperator;

/**
 * Tests of damaged input with a real driver. PoCL ends the process when it receives damaged bytes,
 * so exit code 0 shows that it received none.
 */
@ExtendWith(WithDevice.class)
class DamagedEntryDriverTest {
    private final SplittableRandom random = TestSeed.random("DamagedEntryDriverTest");

    @TempDir
    private Path directory = Path.of("");

    @Test
    @DisplayName("damaged entries in the local tier are misses, never reach the driver, and are"
            + " replaced")
    @Tag("exhaustive")
    void damagedLocalEntries() throws Exception {
        run(Map.of(), "machine");
        for (UnaryOperator<byte[]> damage : damages()) {
            List<StoredEntry> stored = StoredEntry.in(directory.resolve("machine"));
            assertEquals(TestManifests.COUNT, stored.size());
            StoredEntry victim = stored.get(random.nextInt(stored.size()));
            victim.overwrite(damage.apply(victim.bytes()));
            GranaryProcess.Result damaged = run(Map.of(), "machine");
            assertEquals(0, damaged.exitCode(), damaged::toString);
            assertEquals(1, damaged.summary("compiled"), damaged::toString);
        }
        assertEquals(TestManifests.COUNT, run(Map.of(), "machine").summary("local"), "replaced");
    }

    @Test
    @Tag("exhaustive") // by default without a driver: BucketTierPacksTest.damagedUnpacked
    @DisplayName("damaged objects in the bucket are misses, never reach the driver, and are"
            + " replaced")
    void damagedObjects() throws Exception {
        Map<String, String> online = TestS3.server().environment();
        assertEquals(0, run(online, "ci").exitCode());
        damage(online, "/e/", TestManifests.COUNT);
        expectReplacement(online);
    }

    @Test
    @DisplayName("damaged packs in the bucket are misses, never reach the driver, and their"
            + " entries are published unpacked")
    @Tag("exhaustive")
    void damagedPacks() throws Exception {
        Map<String, String> online = TestS3.server().environment();
        assertEquals(
                0,
                GranaryProcess.run(
                                with(online, "ci"), "populate", "--json", TestManifests.manifest())
                        .exitCode());
        damage(online, "/p/", 1);
        expectReplacement(online);
    }

    /** Damages every object with {@code part} in its key; of a pack, every entry. */
    private void damage(Map<String, String> online, String part, int expected) {
        String bucket = online.getOrDefault("GRANARY_BUCKET", "").substring("s3://".length());
        String name = bucket.substring(0, bucket.indexOf('/'));
        String prefix = bucket.substring(bucket.indexOf('/') + 1) + "/";
        try (S3Client client = TestS3.server().client()) {
            List<String> keys = client
                    .listObjectsV2(request -> request.bucket(name).prefix(prefix))
                    .contents()
                    .stream()
                    .map(S3Object::key)
                    .filter(key -> key.contains(part))
                    .toList();
            assertEquals(expected, keys.size());
            List<UnaryOperator<byte[]>> damages = new ArrayList<>(damages());
            // unlike a segment, an object can be too long
            damages.add(bytes -> Arrays.copyOf(bytes, bytes.length + 1 + random.nextInt(100)));
            for (int i = 0; i < keys.size(); i++) {
                String key = keys.get(i);
                byte[] body = client.getObjectAsBytes(
                                request -> request.bucket(name).key(key))
                        .asByteArray();
                byte[] damaged = part.equals("/p/")
                        ? damagedThroughout(body)
                        : damages.get(random.nextInt(damages.size())).apply(body);
                client.putObject(
                        request -> request.bucket(name).key(key), RequestBody.fromBytes(damaged));
            }
        }
    }

    private static byte[] damagedThroughout(byte[] pack) {
        byte[] damaged = pack.clone();
        for (int i = 0; i < damaged.length; i += 50) {
            damaged[i] ^= 1;
        }
        return damaged;
    }

    private void expectReplacement(Map<String, String> online) throws Exception {
        GranaryProcess.Result cold = run(online, "cold");
        assertEquals(0, cold.exitCode(), cold::toString);
        assertEquals(TestManifests.COUNT, cold.summary("compiled"), cold::toString);
        GranaryProcess.Result warm = run(online, "replaced");
        assertEquals(TestManifests.COUNT, warm.summary("bucket"), warm::toString);
    }

    @Test
    @DisplayName("an object with another entry's bytes is a miss")
    @Tag("exhaustive")
    void swappedObjects() throws Exception {
        run(Map.of(), "machine");
        List<StoredEntry> stored = StoredEntry.in(directory.resolve("machine"));
        byte[] first = stored.get(0).bytes();
        stored.get(0).overwrite(stored.get(1).bytes());
        stored.get(1).overwrite(first);
        GranaryProcess.Result swapped = run(Map.of(), "machine");
        assertEquals(0, swapped.exitCode(), swapped::toString);
        assertEquals(2, swapped.summary("compiled"), swapped::toString);
    }

    @Test
    @Tag("exhaustive")
    @DisplayName("a bucket that accepts connections and stays silent: everything is compiled, exit"
            + " code 0")
    void silentBucket() throws Exception {
        try (ServerSocket silent = new ServerSocket(0, 50, InetAddress.getLoopbackAddress())) {
            Map<String, String> stores = Map.of(
                    "GRANARY_BUCKET", "s3://silent-bucket",
                    "GRANARY_BUCKET_WAIT", "4s",
                    "GRANARY_S3_ENDPOINT", "http://127.0.0.1:" + silent.getLocalPort(),
                    "AWS_ACCESS_KEY_ID", "somebody",
                    "AWS_SECRET_ACCESS_KEY", "secret-that-is-never-printed",
                    "AWS_REGION", "us-east-1");
            GranaryProcess.Result run = run(stores, "waiting");
            assertEquals(0, run.exitCode(), run::toString);
            assertEquals(TestManifests.COUNT, run.summary("compiled"), run::toString);
            assertTrue(!run.toString().contains("secret-that-is-never-printed"), "T4");
            assertEquals(
                    TestManifests.COUNT,
                    run(Map.of(), "waiting").summary("local"),
                    "the local tier was filled");
        }
    }

    /** Returns the kinds of damage, with random choices from the seed. */
    private List<UnaryOperator<byte[]>> damages() {
        return List.of(
                bytes -> new byte[0],
                bytes -> Arrays.copyOf(bytes, random.nextInt(bytes.length)),
                bytes -> "<html><body>Please log in</body></html>".getBytes(StandardCharsets.UTF_8),
                bytes -> {
                    byte[] flipped = bytes.clone();
                    flipped[random.nextInt(bytes.length)] ^= (byte) (1 << random.nextInt(8));
                    return flipped;
                });
    }

    private GranaryProcess.Result run(Map<String, String> stores, String machine) throws Exception {
        return GranaryProcess.run(with(stores, machine), "get", "--json", TestManifests.manifest());
    }

    private Map<String, String> with(Map<String, String> stores, String machine) {
        Map<String, String> variables = new HashMap<>(stores);
        variables.put("GRANARY_DIR", directory.resolve(machine).toString());
        return variables;
    }
}
