package dev.granary.cli.entry;

import dev.granary.cache.Entry;
import dev.granary.cache.EntryCatalog.Listed;
import dev.granary.cache.Sha256;
import dev.granary.cache.StoreResult;
import dev.granary.plans.tuning.TunedPlan.TuningDescriptor;
import dev.granary.s3.BucketTier;
import dev.granary.s3.BulkBucket;
import dev.granary.s3.pack.PackPublisher;
import dev.granary.s3.pack.warm.BulkEntryReader;
import dev.granary.s3.pack.warm.BulkReadPlan;

import java.io.IOException;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;
import java.util.stream.Collectors;

/**
 * Bucket of entries. Entries are stored in packs, as {@code populate} stores them: unpacked if the
 * server is not known to support conditional writes, or if an entry is too large for a pack or the
 * outcome of a tuning.
 */
final class BucketPlace extends Place {
    private static final int WRITERS = 16;

    private final BucketTier tier;
    private final BulkBucket bulk;
    private final Set<Sha256> present = new HashSet<>();
    private final Map<String, PackPublisher> publishers = new ConcurrentHashMap<>();

    /** Creates the place of a bucket, which its {@link #close} closes. Sends nothing. */
    BucketPlace(String name, BucketTier tier) {
        super(name, tier);
        this.tier = tier;
        this.bulk = tier.packed();
    }

    @Override
    int maxSearched() {
        return 200;
    }

    @Override
    void read(List<Listed> wanted, EntryCopier copier) throws InterruptedException {
        Map<String, List<Listed>> byTarget =
                wanted.stream().collect(Collectors.groupingBy(Listed::namespace));
        for (Map.Entry<String, List<Listed>> target : byTarget.entrySet()) {
            Set<Sha256> hashes =
                    target.getValue().stream().map(Listed::hash).collect(Collectors.toSet());
            BulkEntryReader reader = bulk.bulkReader(target.getKey());
            try {
                BulkReadPlan plan =
                        reader.plan(BulkEntryReader.UnpackedEntries.READ, hashes::contains);
                copier.skipLost(plan);
                reader.run(plan, copier);
                int unread = (int) (hashes.size() - plan.entries());
                if (plan.unlisted().isPresent() && unread > 0) {
                    copier.skipped(
                            unread,
                            0,
                            "unpacked entries were not listed: "
                                    + plan.unlisted().get());
                }
            } catch (IOException e) {
                copier.skipped(hashes.size(), 0, String.valueOf(e.getMessage()));
            }
        }
    }

    @Override
    void prepare() throws IOException {
        tier.list(listed -> present.add(listed.hash()));
    }

    @Override
    boolean contains(Listed entry) {
        return present.contains(entry.hash());
    }

    @Override
    int writers() {
        return WRITERS;
    }

    @Override
    void store(Entry entry, Consumer<StoreResult> whenDone) {
        if (TuningDescriptor.isTuning(entry.id()) // one writer alone may create a revision
                || tier.packObstacle().isPresent()
                || !publisher(entry).add(entry, whenDone)) {
            whenDone.accept(tier.store(entry));
        }
    }

    private PackPublisher publisher(Entry entry) {
        return publishers.computeIfAbsent(
                entry.id().target().path(),
                namespace -> bulk.publisher(namespace, tier::store, tier::disprove));
    }

    @Override
    void finish() {
        publishers.values().forEach(PackPublisher::finish);
    }

    @Override
    public void close() {
        bulk.close();
        tier.close();
    }
}
