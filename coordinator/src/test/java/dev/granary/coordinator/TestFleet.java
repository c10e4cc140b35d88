package dev.granary.coordinator;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;

import dev.granary.cache.Entry;
import dev.granary.cache.Id;
import dev.granary.cache.StoreResult;
import dev.granary.cache.contract.TestEntries;
import dev.granary.coordinator.config.ConfigException;
import dev.granary.coordinator.config.GranaryConfig;
import dev.granary.coordinator.config.PublishMode;
import dev.granary.s3.BucketTier;
import dev.granary.s3.BulkBucket;
import dev.granary.s3.ObjectStoreFactory;
import dev.granary.s3.config.S3Config;
import dev.granary.s3.contract.FaultPlan;
import dev.granary.s3.contract.FaultyS3;
import dev.granary.s3.contract.S3Request;
import dev.granary.s3.embedded.EmbeddedS3;
import dev.granary.s3.pack.PackManifest;
import dev.granary.s3.pack.PackManifestLog;
import dev.granary.s3.pack.PackPublisher;
import dev.granary.s3.store.GetResult;
import dev.granary.s3.store.ListResult;
import dev.granary.s3.store.ObjectMarks;
import dev.granary.s3.store.ObjectStore;
import dev.granary.s3.store.WriteResult;
import java.io.IOException;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.UnaryOperator;
import java.util.stream.IntStream;

/** Machines with directories of their own, and one bucket on a real server, with a log of what it was asked. */
public final class TestFleet implements AutoCloseable {
    public static final String NAMESPACE = TestEntries.TARGET.path();

    final EmbeddedS3 server;
    public final FaultyS3 way;
    public final FakeEngine engine = new FakeEngine("one");
    final Map<Id, StoreResult> published = new ConcurrentHashMap<>();
    private final Path directory;
    private int seen;

    /** Starts the server; the machines' directories are below that one. */
    public TestFleet(Path directory) throws IOException {
        this.directory = directory;
        this.server = EmbeddedS3.start(null);
        server.createBucket("kernels");
        this.way = FaultyS3.inFrontOf(server);
        System.setProperty("aws.accessKeyId", server.accessKey());
        System.setProperty("aws.secretAccessKey", server.secretKey());
        try (BucketTier tier = BucketTier.open(s3())) {
            assertFalse(tier.check().isEmpty(), "tried out now, and not at the first publication");
        }
    }

    /** How the way to the server is called. */
    public String endpoint() {
        return way.endpoint().toString();
    }

    private S3Config s3() {
        return S3Config.builder("kernels").prefix("ci").endpoint(server.endpoint()).credentials(server.accessKey(), server.secretKey()).build();
    }

    public GranaryConfig.Builder config(String machine) throws ConfigException {
        return config(machine, "s3://kernels/ci");
    }

    public GranaryConfig.Builder config(String machine, String buckets) throws ConfigException {
        return new TestNode(directory.resolve(machine), new FakeBucket()).config().endpoint(endpoint()).bucket(buckets).flushLimit(TestNode.LONG);
    }

    public Granary open(String machine, PublishMode publishing) throws ConfigException {
        return Granary.open(config(machine).build(), publishing, published::put);
    }

    public static List<FakeDescriptor> kernels(int count) {
        return IntStream.range(0, count).mapToObj(i -> FakeDescriptor.of("kernel " + i)).toList();
    }

    /** What came to the server since this was asked last, such as {@code PUT none-match pack}. */
    public List<String> asked() {
        List<FaultyS3.Exchange> all = way.exchanges();
        List<String> asked = all.subList(seen, all.size()).stream().map(exchange -> name(exchange.request())).toList();
        seen = all.size();
        return asked;
    }

    private static String name(S3Request request) {
        String key = request.key();
        String what = key.endsWith("/m/newest") ? "hint" : key.contains("/m/") ? "manifest" : key.contains("/p/") ? "pack" : key.contains("/e/") ? "entry"
                : key.endsWith("granary.json") ? "marker" : key;
        return request.operation() + " " + what + (key.isEmpty() || key.contains(NAMESPACE) || !key.contains("/v1/") ? "" : " of another target");
    }

    /** The newest manifest. */
    PackManifest manifest() {
        try (BucketTier tier = BucketTier.open(s3()); BulkBucket packed = tier.packed()) {
            return assertInstanceOf(PackManifestLog.Newest.Found.class, packed.manifests(NAMESPACE).newest(PackManifest.NONE)).manifest();
        }
    }

    /** Publishes entries in one pack, behind the backs of all machines. */
    public void publish(List<Entry> entries) {
        List<StoreResult> results = new ArrayList<>();
        try (BucketTier tier = BucketTier.open(s3()); BulkBucket packed = tier.packed()) {
            PackPublisher publisher = packed.publisher(entries.getFirst().id().target().path());
            entries.forEach(entry -> publisher.add(entry, results::add));
            publisher.finish();
        }
        results.forEach(result -> assertInstanceOf(StoreResult.Stored.class, result));
    }

    /** Publishes entries that lie alone, behind the backs of all machines. */
    public void publishAlone(List<Entry> entries) {
        try (BucketTier tier = BucketTier.open(s3())) {
            entries.forEach(entry -> assertInstanceOf(StoreResult.Stored.class, tier.store(entry)));
        }
    }

    /** What happens on the way to the server from now on. */
    public void plan(FaultPlan plan) {
        way.plan(plan);
    }

    /** All keys that have this in them. */
    public List<String> keys(String part) {
        List<String> keys = new ArrayList<>();
        try (ObjectStore store = ObjectStoreFactory.open(s3())) {
            assertInstanceOf(ListResult.Complete.class, store.list("ci/", object -> keys.add(object.key())));
        }
        return keys.stream().filter(key -> key.contains(part)).toList();
    }

    /** Removes all objects whose keys have this in them, as a lifecycle rule does. */
    public void remove(String part) {
        List<String> keys = keys(part);
        try (ObjectStore store = ObjectStoreFactory.open(s3())) {
            keys.forEach(key -> assertInstanceOf(WriteResult.Done.class, store.delete(key)));
        }
    }

    /** Replaces an object. */
    public void change(String key, UnaryOperator<byte[]> change) {
        try (ObjectStore store = ObjectStoreFactory.open(s3())) {
            byte[] old = assertInstanceOf(GetResult.Found.class, store.get(key, 1 << 30)).bytes().toArray(ValueLayout.JAVA_BYTE);
            assertInstanceOf(WriteResult.Done.class, store.put(key, change.apply(old), ObjectMarks.NONE));
        }
    }

    @Override
    public void close() {
        way.close();
        server.close();
        System.clearProperty("aws.accessKeyId");
        System.clearProperty("aws.secretAccessKey");
    }
}
