package dev.granary.coordinator;

import static dev.granary.testing.BucketAssertions.assertThat;
import static dev.granary.testing.CacheAssertions.assertThat;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.google.gson.JsonParser;

import dev.granary.cache.Entry;
import dev.granary.cache.EntryCatalog;
import dev.granary.cache.Id;
import dev.granary.cache.StoreResult;
import dev.granary.cache.contract.TestEntries;
import dev.granary.coordinator.config.ConfigException;
import dev.granary.coordinator.config.GranaryConfig;
import dev.granary.coordinator.config.GranaryConfigBuilder;
import dev.granary.coordinator.tier.TierFactory;
import dev.granary.local.LocalTier;
import dev.granary.s3.BucketTier;
import dev.granary.s3.BulkBucket;
import dev.granary.s3.ObjectStoreFactory;
import dev.granary.s3.TestProcess;
import dev.granary.s3.UseNotes.UseNote;
import dev.granary.s3.config.S3Config;
import dev.granary.s3.contract.FaultPlan;
import dev.granary.s3.contract.FaultyS3;
import dev.granary.s3.contract.S3Request;
import dev.granary.s3.embedded.EmbeddedS3;
import dev.granary.s3.pack.PackPublisher;
import dev.granary.s3.probe.ConditionalWriteSupport;
import dev.granary.s3.store.ObjectStore;

import java.io.IOException;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.UnaryOperator;
import java.util.stream.IntStream;

/** Machines with separate directories, and one bucket on a real server that logs its requests. */
public final class TestFleet implements AutoCloseable {
    /** The address of the bucket. */
    static final String BUCKET = "s3://kernels/ci";

    public static final String NAMESPACE = TestEntries.TARGET.path();

    final EmbeddedS3 server;
    public final FaultyS3 proxy;
    public final FakeEngine engine = new FakeEngine("one");
    final Map<Id, StoreResult> published = new ConcurrentHashMap<>();
    private final Path directory;
    private int reported;

    /** Starts the server. The directories of the machines are below {@code directory}. */
    public TestFleet(Path directory) throws IOException {
        this.directory = directory;
        this.server = EmbeddedS3.start(null);
        server.createBucket("kernels");
        this.proxy = FaultyS3.inFrontOf(server);
        System.setProperty("aws.accessKeyId", server.accessKey());
        System.setProperty("aws.secretAccessKey", server.secretKey());
        S3Config config = s3();
        try (ObjectStore store = ObjectStoreFactory.open(config)) { // so no publication probes
            byte[] marker = TestProcess.marker(config, ConditionalWriteSupport.FULL);
            assertThat(store.put(TestProcess.markerKey(config), marker)).isDone();
        }
    }

    /** Returns the URL of the proxy to the server. */
    public String endpoint() {
        return proxy.endpoint().toString();
    }

    private S3Config s3() {
        return S3Config.builder("kernels")
                .prefix("ci")
                .endpoint(server.endpoint())
                .credentials(server.accessKey(), server.secretKey())
                // on a busy machine, the transfer of a large entry takes long
                .requestTimeout(TestNode.LONG)
                .stallTimeout(TestNode.LONG)
                .loadDeadline(TestNode.LONG)
                .build();
    }

    public GranaryConfigBuilder config(String machine) throws ConfigException {
        return config(machine, BUCKET);
    }

    public GranaryConfigBuilder config(String machine, String buckets) throws ConfigException {
        return new TestNode(directory.resolve(machine), new FakeBucket())
                .config()
                .endpoint(endpoint())
                .bucket(buckets)
                .flushLimit(TestNode.LONG);
    }

    public Granary open(String machine) throws ConfigException {
        return builder(machine).open();
    }

    public Granary openInPacks(String machine) throws ConfigException {
        return builder(machine).inPacks().open();
    }

    private GranaryBuilder builder(String machine) throws ConfigException {
        return Granary.builder()
                .config(config(machine).build())
                .published((_, id, result) -> published.put(id, result));
    }

    /** Opens the bucket, without any machine; the caller closes it. */
    BucketTier bucket() {
        return BucketTier.open(s3());
    }

    /** Writes a note of use. */
    public void note(UseNote note) {
        try (BucketTier bucket = bucket()) {
            assertThat(bucket.useNotes().write(note)).isDone();
        }
    }

    /** Overwrites an object of the target, whose key ends with {@code name}. */
    void put(String name, String content) {
        place("ci/v2/" + NAMESPACE + "/" + name, content);
    }

    /** Overwrites an object. */
    public void place(String key, String content) {
        try (ObjectStore store = ObjectStoreFactory.open(s3())) {
            store.put(key, content.getBytes(UTF_8));
        }
    }

    public static List<FakeDescriptor> kernels(int count) {
        return IntStream.range(0, count)
                .mapToObj(i -> FakeDescriptor.of("kernel " + i))
                .toList();
    }

    /**
     * Returns the requests since the last call, such as {@code PUT none-match pack}; without the
     * notes of use, of which each machine sends one.
     */
    public List<String> requests() {
        List<FaultyS3.Exchange> all = proxy.exchanges();
        List<String> requests = all.subList(reported, all.size()).stream()
                .filter(exchange -> !exchange.request().key().startsWith("ci/use/"))
                .map(exchange -> name(exchange.request()))
                .toList();
        reported = all.size();
        return requests;
    }

    private static String name(S3Request request) {
        String key = request.key();
        String kind = key.endsWith("/head")
                ? "head"
                : key.contains("/m/")
                        ? "base"
                        : key.contains("/p/")
                                ? "pack"
                                : key.contains("/e/")
                                        ? "entry"
                                        : key.contains("/c/")
                                                ? "claim"
                                                : key.endsWith("granary.json") ? "marker" : key;
        return request.operation() + " " + kind
                + (key.isEmpty() || key.contains(NAMESPACE) || !key.contains("/v2/")
                        ? ""
                        : " of another target");
    }

    /** Returns the number of entries in each pack that the head names. */
    List<Integer> packs() {
        try (ObjectStore store = ObjectStoreFactory.open(s3())) {
            byte[] head = assertThat(store.get("ci/v2/" + NAMESPACE + "/head", 1 << 20))
                    .isFound()
                    .bytes()
                    .toArray(ValueLayout.JAVA_BYTE);
            return JsonParser.parseString(new String(head, UTF_8))
                    .getAsJsonObject()
                    .getAsJsonArray("recent")
                    .asList()
                    .stream()
                    .map(pack -> pack.getAsJsonObject().get("entries").getAsInt())
                    .toList();
        }
    }

    /** Publishes entries in one pack, without any machine. */
    public void publish(List<Entry> entries) {
        List<StoreResult> results = new ArrayList<>();
        try (BucketTier tier = BucketTier.open(s3());
                BulkBucket bulk = tier.packed()) {
            PackPublisher publisher = bulk.publisher(
                    entries.getFirst().id().target().path(), tier::store, tier::disprove);
            entries.forEach(entry -> publisher.add(entry, results::add));
            publisher.finish();
        }
        results.forEach(result -> assertThat(result).isStored());
    }

    /** Publishes unpacked entries, without any machine. */
    public void publishUnpacked(List<Entry> entries) {
        try (BucketTier tier = BucketTier.open(s3())) {
            entries.forEach(entry -> assertThat(tier.store(entry)).isStored());
        }
    }

    /**
     * Copies the entries of a target from the first bucket to the local directory, as {@code warm}
     * does, and returns their number.
     */
    public static int install(GranaryConfig config, String namespace) throws Exception {
        int installed = 0;
        try (BucketTier bucket = TierFactory.bucket(config.buckets().getFirst(), Optional.empty());
                LocalTier local = TierFactory.local(config)) {
            for (EntryCatalog.Listed listed : FakeCatalog.entries(bucket)) {
                if (listed.namespace().equals(namespace)) {
                    Entry entry = assertThat(bucket.read(listed)).isHit();
                    assertThat(local.store(entry)).isStored();
                    installed++;
                }
            }
        }
        return installed;
    }

    /** Sets the faults of the proxy from now on. */
    public void plan(FaultPlan plan) {
        proxy.plan(plan);
    }

    /** Returns the keys that contain {@code part}. */
    public List<String> keys(String part) {
        List<String> keys = new ArrayList<>();
        try (ObjectStore store = ObjectStoreFactory.open(s3())) {
            assertThat(store.list("ci/", object -> keys.add(object.key()))).isComplete();
        }
        return keys.stream().filter(key -> key.contains(part)).toList();
    }

    /** Removes the objects whose keys contain {@code part}, as a lifecycle rule does. */
    public void remove(String part) {
        List<String> keys = keys(part);
        try (ObjectStore store = ObjectStoreFactory.open(s3())) {
            keys.forEach(key -> assertThat(store.delete(key)).isDone());
        }
    }

    /** Replaces the content of an object. */
    public void change(String key, UnaryOperator<byte[]> replacement) {
        try (ObjectStore store = ObjectStoreFactory.open(s3())) {
            byte[] old = assertThat(store.get(key, 1 << 30))
                    .isFound()
                    .bytes()
                    .toArray(ValueLayout.JAVA_BYTE);
            assertThat(store.put(key, replacement.apply(old))).isDone();
        }
    }

    @Override
    public void close() {
        proxy.close();
        server.close();
        System.clearProperty("aws.accessKeyId");
        System.clearProperty("aws.secretAccessKey");
    }
}
