package dev.granary.benchmarks.bucket;

import dev.granary.benchmarks.bucket.server.BucketWorkspace;
import dev.granary.benchmarks.bucket.server.ServerRoute;
import dev.granary.benchmarks.bucket.transport.BareSdkClient;
import dev.granary.benchmarks.bucket.workload.BucketFiller;
import dev.granary.benchmarks.bucket.workload.BucketSettings;
import dev.granary.benchmarks.bucket.workload.BucketWorkload;
import dev.granary.benchmarks.bucket.workload.Sample;
import dev.granary.benchmarks.harness.Goal;
import dev.granary.benchmarks.harness.ReportSection;
import dev.granary.cache.Id;
import dev.granary.cache.LoadResult;
import dev.granary.cache.format.EntryFormat;
import dev.granary.cache.format.VerificationLevel;
import dev.granary.s3.BucketTier;
import dev.granary.s3.ObjectStoreFactory;
import dev.granary.s3.config.S3Config;
import dev.granary.s3.store.GetResult;
import dev.granary.s3.store.ListResult;
import dev.granary.s3.store.ObjectStore;

import software.amazon.awssdk.core.sync.ResponseTransformer;
import software.amazon.awssdk.services.s3.S3Client;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Measure of a hit of an unpacked entry against a read of the same object by the bare client, with
 * the time of each part.
 */
final class UnpackedEntryMeasure {
    private static final String PREFIX = "path";
    private static final int ENTRIES = 64;
    private static final int FIRST_UNPACKED = 1 << 20; // beyond the numbers of packed entries
    private static final int DELAYED_PART = 4; // a delayed route gets this part of the calls
    private static final double GOAL_PERCENT = 10;

    private final BucketSettings settings;
    private final BucketWorkspace workplace;
    private final ReportSection section = new ReportSection(
            "loose",
            "a hit of a loose 32 KiB entry against getObject of the bare SDK; medians",
            new ReportSection.Column("bareMicros", "SDK us", 0),
            new ReportSection.Column("bareSlowMicros", "p99", 0),
            new ReportSection.Column("transportMicros", "store us", 0),
            new ReportSection.Column("decodeMicros", "decode us", 1),
            new ReportSection.Column("tierMicros", "hit us", 0),
            new ReportSection.Column("tierSlowMicros", "p99", 0),
            new ReportSection.Column("addedPercent", "added %", 1),
            new ReportSection.Column("restMicros", "rest us", 0));

    UnpackedEntryMeasure(BucketSettings settings, BucketWorkspace workplace) {
        this.settings = settings;
        this.workplace = workplace;
    }

    /** Measures over each of {@code routes}, and returns the table. */
    ReportSection run(List<ServerRoute> routes) throws IOException, InterruptedException {
        BucketFiller filler = new BucketFiller(routes.getFirst(), workplace);
        BucketWorkload packed = BucketWorkload.typical("Path", settings.seed(), 0, ENTRIES);
        BucketWorkload unpacked =
                BucketWorkload.typical("Path", settings.seed(), FIRST_UNPACKED, ENTRIES);
        filler.loose(PREFIX, unpacked);
        filler.packed(PREFIX, packed);
        for (ServerRoute route : routes) {
            workplace.say("loose, " + route.label());
            measure(route, unpacked);
        }
        section.note("SDK: getObject into an array, the synchronous client over Apache 5 with the"
                + " settings of the tier's transport; store: the tier's transport alone;"
                + " decode: the whole check of the entry that came, its SHA-256 included; hit:"
                + " BucketTier.load, which has the target's head; added: hit against SDK;"
                + " rest: hit without store and decode. They take turns call by call");
        return section;
    }

    private void measure(ServerRoute route, BucketWorkload unpacked) throws IOException {
        S3Config config = route.config(PREFIX).build();
        try (S3Client bare = BareSdkClient.open(
                        config.connection(), BareSdkClient.apache(config.connection()));
                ObjectStore store = ObjectStoreFactory.open(config);
                BucketTier tier = BucketTier.open(config)) {
            Turns turns = new Turns(bare, store, tier, route.bucket(), unpacked.ids(), keys(store));
            int calls = Math.max(
                    ENTRIES,
                    route.delayMillis() == 0 ? settings.calls() : settings.calls() / DELAYED_PART);
            turns.play(calls / 2); // warms up
            turns.forget();
            turns.play(calls);
            report(route, turns);
        }
    }

    private void report(ServerRoute route, Turns turns) {
        double bare = turns.bareMicros.median();
        double tier = turns.tierMicros.median();
        double added = 100 * (tier / bare - 1);
        double rest = tier - turns.storeMicros.median() - turns.decodeMicros.median();
        section.row(
                route.label(),
                bare,
                turns.bareMicros.quantile(0.99),
                turns.storeMicros.median(),
                turns.decodeMicros.median(),
                tier,
                turns.tierMicros.quantile(0.99),
                added,
                rest);
        section.goal(new Goal(
                "a loose hit, added to the SDK's GET, %, " + route.label(),
                Goal.Bound.AT_MOST,
                GOAL_PERCENT,
                added));
    }

    /** Returns the keys of the entries, by the name at their end. */
    private static Map<String, String> keys(ObjectStore store) throws IOException {
        Map<String, String> keys = new HashMap<>();
        if (!(store.list(
                        PREFIX + "/v2/",
                        object -> keys.put(
                                object.key().substring(object.key().lastIndexOf('/') + 1),
                                object.key()))
                instanceof ListResult.Complete)) {
            throw new IOException("The loose entries cannot be listed");
        }
        return keys;
    }

    /** Turns in which one object is read in three ways, each first in a third of all turns. */
    private static final class Turns {
        private static final int WAYS = 3;

        private final S3Client bare;
        private final ObjectStore store;
        private final BucketTier tier;
        private final String bucket;
        private final List<Id> ids;
        private final List<String> keys;
        private Sample bareMicros = new Sample();
        private Sample storeMicros = new Sample();
        private Sample decodeMicros = new Sample();
        private Sample tierMicros = new Sample();

        Turns(
                S3Client bare,
                ObjectStore store,
                BucketTier tier,
                String bucket,
                List<Id> ids,
                Map<String, String> keys)
                throws IOException {
            this.bare = bare;
            this.store = store;
            this.tier = tier;
            this.bucket = bucket;
            this.ids = ids;
            this.keys = ids.stream()
                    .map(id -> keys.getOrDefault(id.hash().hex(), ""))
                    .toList();
            if (this.keys.contains("")) {
                throw new IOException("Not all loose entries are listed");
            }
        }

        void forget() {
            bareMicros = new Sample();
            storeMicros = new Sample();
            decodeMicros = new Sample();
            tierMicros = new Sample();
        }

        void play(int turns) throws IOException {
            for (int turn = 0; turn < turns; turn++) {
                int index = turn % ids.size();
                for (int way = 0; way < WAYS; way++) {
                    switch ((turn + way) % WAYS) {
                        case 0 -> bare(keys.get(index));
                        case 1 -> store(keys.get(index), ids.get(index));
                        default -> tier(ids.get(index));
                    }
                }
            }
        }

        private void bare(String key) {
            long start = System.nanoTime();
            byte[] bytes = bare.getObject(
                            request -> request.bucket(bucket).key(key),
                            ResponseTransformer.toBytes())
                    .asByteArrayUnsafe();
            bareMicros.add((System.nanoTime() - start) / 1e3);
            if (bytes.length == 0) {
                throw new IllegalStateException("An empty object: " + key);
            }
        }

        private void store(String key, Id id) throws IOException {
            long start = System.nanoTime();
            GetResult result = store.get(key, EntryFormat.MAX_BYTES);
            storeMicros.add((System.nanoTime() - start) / 1e3);
            if (!(result instanceof GetResult.Found found)) {
                throw new IOException(key + ": " + result);
            }
            decode(found.bytes(), id);
        }

        private void decode(MemorySegment bytes, Id id) throws IOException {
            long start = System.nanoTime();
            LoadResult result = EntryFormat.decode(bytes, id, VerificationLevel.CONTENT_HASH);
            decodeMicros.add((System.nanoTime() - start) / 1e3);
            requireHit(result);
        }

        private void tier(Id id) throws IOException {
            long start = System.nanoTime();
            LoadResult result = tier.load(id);
            tierMicros.add((System.nanoTime() - start) / 1e3);
            requireHit(result);
        }

        private static void requireHit(LoadResult result) throws IOException {
            if (!(result instanceof LoadResult.Hit)) {
                throw new IOException("A loose entry is no hit: " + result);
            }
        }
    }
}
