package dev.granary.benchmarks.bucket.workload;

import dev.granary.benchmarks.bucket.server.BucketWorkspace;
import dev.granary.benchmarks.bucket.server.ServerRoute;
import dev.granary.cache.StoreResult;
import dev.granary.s3.BucketTier;
import dev.granary.s3.BulkBucket;
import dev.granary.s3.ObjectStoreFactory;
import dev.granary.s3.config.S3Config;
import dev.granary.s3.pack.PackPublisher;
import dev.granary.s3.store.GetResult;
import dev.granary.s3.store.ListResult;
import dev.granary.s3.store.ObjectStore;
import dev.granary.s3.store.WriteResult;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;

/**
 * Writer of the entries of a run into the bucket: in packs, unpacked, and as one object with the
 * bytes of all packs.
 */
public final class BucketFiller {
    /** The prefix of the keys of the packs. */
    public static final String PACKED = "packed";

    /** The prefix of the keys of the unpacked entries. */
    public static final String LOOSE = "loose";

    /** The key of the one object. */
    public static final String OBJECT = "object/all";

    private static final int PACKERS = 2;
    private static final int UPLOADS = 32;
    private static final int MAX_ATTEMPTS = 3;
    private static final Duration LONGEST_REQUEST = Duration.ofMinutes(5);

    private final ServerRoute route;
    private final BucketWorkspace workplace;

    public BucketFiller(ServerRoute route, BucketWorkspace workplace) {
        this.route = route;
        this.workplace = workplace;
    }

    /**
     * Publishes all of {@code material} in packs, unpacked, and as one object.
     *
     * @return the bytes of the packs
     */
    public long all(BucketWorkload material) throws IOException, InterruptedException {
        workplace.say("filling: packs");
        packed(PACKED, material);
        workplace.say("filling: loose objects");
        loose(LOOSE, material);
        workplace.say("filling: one object");
        return object(material.namespace());
    }

    /** Publishes all of {@code material} in packs below {@code prefix}. */
    public void packed(String prefix, BucketWorkload material)
            throws IOException, InterruptedException {
        AtomicInteger stored = new AtomicInteger();
        try (BulkBucket bucket = BulkBucket.open(route.config(prefix).build())) {
            PackPublisher publisher = bucket.publisher(
                    material.namespace(), _ -> new StoreResult.Failed("not in a pack"), _ -> {});
            ParallelWorkers.run(
                    PACKERS,
                    material.count(),
                    index -> publisher.add(material.entry(index), result -> {
                        if (result instanceof StoreResult.Stored) {
                            stored.incrementAndGet();
                        }
                    }));
            publisher.finish();
        }
        requireAll(material, stored.get(), "in packs");
    }

    /** Publishes all of {@code material} below {@code prefix}, unpacked. */
    public void loose(String prefix, BucketWorkload material)
            throws IOException, InterruptedException {
        AtomicInteger stored = new AtomicInteger();
        AtomicReference<StoreResult> other = new AtomicReference<>();
        try (BucketTier tier = BucketTier.open(route.config(prefix)
                .loadDeadline(LONGEST_REQUEST)
                .refreshInterval(Duration.ZERO)
                .build())) {
            ParallelWorkers.run(UPLOADS, material.count(), index -> {
                for (int attempt = 1; attempt <= MAX_ATTEMPTS; attempt++) {
                    StoreResult result = tier.store(material.entry(index));
                    if (result instanceof StoreResult.Stored
                            || result instanceof StoreResult.Duplicate) {
                        stored.incrementAndGet();
                        return;
                    }
                    other.set(result);
                }
            });
        }
        requireAll(material, stored.get(), "alone (" + other.get() + ")");
    }

    private long object(String namespace) throws IOException {
        S3Config config = route.config("")
                .requestTimeout(LONGEST_REQUEST)
                .loadDeadline(LONGEST_REQUEST)
                .build();
        try (ObjectStore store = ObjectStoreFactory.open(config)) {
            List<ObjectStore.Listed> packs = new ArrayList<>();
            String prefix = PACKED + "/v2/" + namespace + "/p/";
            if (!(store.list(prefix, packs::add) instanceof ListResult.Complete)) {
                throw new IOException("The packs cannot be listed");
            }
            ByteArrayOutputStream all = new ByteArrayOutputStream(
                    (int) packs.stream().mapToLong(ObjectStore.Listed::bytes).sum());
            for (ObjectStore.Listed pack : packs) {
                if (!(store.get(pack.key(), pack.bytes()) instanceof GetResult.Found found)) {
                    throw new IOException("The pack " + pack.key() + " cannot be read");
                }
                all.write(found.bytes().toArray(ValueLayout.JAVA_BYTE));
            }
            put(store, OBJECT, all.toByteArray());
            return all.size();
        }
    }

    /** Writes an object. */
    public static void put(ObjectStore store, String key, byte[] body) throws IOException {
        WriteResult result = store.put(key, body);
        if (!(result instanceof WriteResult.Done)) {
            throw new IOException("The object " + key + " cannot be written: " + result);
        }
    }

    private static void requireAll(BucketWorkload material, int stored, String where)
            throws IOException {
        if (stored != material.count()) {
            throw new IOException(
                    "Of " + material.count() + " entries, " + stored + " were stored " + where);
        }
    }
}
