package dev.granary.wrap;

import dev.granary.cache.Deadline;
import dev.granary.cache.Entry;
import dev.granary.cache.EntryCatalog;
import dev.granary.cache.LoadResult;
import dev.granary.cache.format.TrustPolicy;
import dev.granary.cache.support.DaemonThreads;
import dev.granary.coordinator.config.BucketConfig;
import dev.granary.coordinator.config.ConfigException;
import dev.granary.coordinator.config.GranaryConfig;
import dev.granary.coordinator.tier.TierFactory;
import dev.granary.coordinator.toml.SafeText;
import dev.granary.local.EntryFiles;
import dev.granary.local.LocalDirectoryException;
import dev.granary.local.LocalTier;
import dev.granary.s3.BulkBucket;
import dev.granary.s3.CollectionPlan;
import dev.granary.s3.pack.warm.BulkEntryReader;
import dev.granary.s3.pack.warm.BulkReadPlan;

import org.jspecify.annotations.Nullable;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.function.Consumer;

/**
 * Fetcher of the files of several scopes: from the local tier, then from each layer, which the
 * local tier gets a copy of. A layer that sends nothing is given up.
 */
final class Fetcher {
    /**
     * The time in which a bucket sends nothing before it is given up, unless its wait is longer.
     */
    private static final Duration SILENCE = Duration.ofSeconds(5);

    private static final Duration POLL = Duration.ofMillis(20);

    /** The length of what is fetched in the time of a small request. */
    private static final long BYTES_PER_REQUEST = 256 << 10;

    /** The number of requests that is too small to ask what is unused. */
    private static final long FEW_REQUESTS = 16;

    private static final String UNUSED = "unused for " + CollectionPlan.UNUSED_DAYS + " days";

    private final GranaryConfig config;
    private final List<ToolRun> runs;
    private final Duration silence;
    private final SortedMap<String, String> failures = new TreeMap<>();

    Fetcher(GranaryConfig config, List<ToolRun> runs) {
        this.config = config;
        this.runs = runs;
        this.silence = Collections.max(List.of(SILENCE, config.bucketWait()));
    }

    /**
     * Fetches for at most {@code limit}. What has arrived is installed then.
     *
     * @return the causes for which layers were not used, by layer
     */
    SortedMap<String, String> fetch(Deadline limit) throws InterruptedException {
        Optional<LocalTier> local = localTier();
        try {
            for (ToolRun run : runs) {
                if (local.isPresent()) { // it checks signatures by itself
                    read(local.get(), TrustPolicy.OFF, run, wanted(local.get(), run), run::install);
                }
            }
            for (BucketConfig layer : config.buckets()) {
                Transfer transfer = new Transfer(layer, local);
                transfer.await(limit);
                if (transfer.failure != null) {
                    failures.put(layer.name(), transfer.failure);
                }
            }
        } catch (IOException e) {
            failures.put(config.directory().toString(), "it cannot be listed: " + e);
        } finally {
            local.ifPresent(LocalTier::close);
        }
        return failures;
    }

    private Optional<LocalTier> localTier() {
        GranaryConfig usable = TierFactory.usable(config);
        try {
            return usable.capacityBytes() == 0
                    ? Optional.empty()
                    : Optional.of(TierFactory.local(usable));
        } catch (LocalDirectoryException e) {
            return Optional.empty(); // it has become unusable just now
        }
    }

    private static List<EntryCatalog.Listed> wanted(EntryCatalog directory, ToolRun run)
            throws IOException {
        List<EntryCatalog.Listed> wanted = new ArrayList<>();
        directory.list(listed -> {
            if (listed.namespace().equals(run.target().path()) && run.isWanted(listed.hash())) {
                wanted.add(listed);
            }
        });
        return wanted;
    }

    /** Passes entries of a directory to {@code sink}. */
    private static void read(
            EntryCatalog catalog,
            TrustPolicy trust,
            ToolRun run,
            List<EntryCatalog.Listed> wanted,
            Consumer<Entry> sink) {
        for (EntryCatalog.Listed listed : wanted) {
            try (Arena memory = Arena.ofConfined()) {
                switch (trust.check(catalog.read(listed, memory))) {
                    case LoadResult.Hit(Entry entry) -> sink.accept(entry);
                    case LoadResult.Damaged damaged ->
                        run.skip(damaged.damage() + ": " + damaged.detail(), 1);
                    case LoadResult.Unavailable(String cause) -> run.skip(cause, 1);
                    case LoadResult.Absent _ -> {}
                }
            }
        }
    }

    /** Leaves out what a collection of the directory would remove. */
    private static void leaveOutUnused(
            BucketConfig.Directory shared, ToolRun run, List<EntryCatalog.Listed> wanted) {
        long now = System.currentTimeMillis();
        long recent = now - Duration.ofDays(CollectionPlan.UNUSED_DAYS).toMillis();
        if (wanted.stream().noneMatch(listed -> listed.lastUsedMillis() < recent)) {
            return; // does not list the directory again
        }
        String namespace = run.target().path();
        try {
            CollectionPlan.Target plan = CollectionPlan.of(
                            EntryFiles.shared(shared.path()),
                            TierFactory.shared(shared).pins(),
                            CollectionPlan.Rules.unused(namespace),
                            now)
                    .target(namespace);
            int before = wanted.size();
            wanted.removeIf(listed -> plan.isLeaving(listed.hash()));
            run.skip(UNUSED, before - wanted.size());
        } catch (IOException e) {
            // pins cannot be read: all is fetched
        }
    }

    /**
     * Leaves out what a collection of the bucket would remove, if reading the notes of use takes
     * less time than fetching everything. Then leaves out what exceeds the capacity.
     */
    private static void leaveOut(BulkBucket bucket, ToolRun run, BulkReadPlan plan) {
        long requests = plan.bytes() / BYTES_PER_REQUEST;
        if (requests >= FEW_REQUESTS) {
            try {
                CollectionPlan.Target unused = bucket.unused(run.target().path(), requests);
                run.skip(UNUSED, (int) plan.leaveOut(unused::isLeaving));
            } catch (IOException e) {
                // the notes cannot be read, or are too many: all is fetched
            }
        }
        run.skip(run.beyondCapacity(), (int) plan.limit(run.maxBytes()));
    }

    /** The transfer from one layer, in a thread that may be left alone with a silent server. */
    private final class Transfer implements BulkEntryReader.Receiver {
        private final BucketConfig layer;
        private final Optional<LocalTier> local;
        private volatile @Nullable BulkBucket bucket;
        private volatile @Nullable String failure;
        private volatile boolean isGivenUp;
        private volatile ToolRun current;

        Transfer(BucketConfig layer, Optional<LocalTier> local) {
            this.layer = layer;
            this.local = local;
            this.current = runs.getFirst();
        }

        void await(Deadline limit) throws InterruptedException {
            Thread thread = DaemonThreads.named("granary-fetch").newThread(this::run);
            thread.start();
            while (!thread.join(POLL)) {
                BulkBucket opened = bucket;
                boolean isSilent =
                        opened != null && opened.traffic().quiet().compareTo(silence) > 0;
                if (isSilent || limit.isOver()) {
                    isGivenUp = true;
                    failure = isSilent
                            ? "no answer within " + silence.toSeconds() + " s"
                            : "not everything was fetched within the wait; --wait sets it";
                    thread.interrupt();
                    return;
                }
            }
        }

        private void run() {
            try {
                if (layer instanceof BucketConfig.Directory shared) {
                    EntryFiles files = EntryFiles.shared(shared.path());
                    for (ToolRun run : runs) {
                        current = run;
                        List<EntryCatalog.Listed> wanted = wanted(files, run);
                        leaveOutUnused(shared, run, wanted);
                        read(files, shared.trust(), run, wanted, this::receive);
                    }
                    return;
                }
                try (BulkBucket opened = TierFactory.bulk(layer, TierFactory.directory(config))) {
                    bucket = opened;
                    for (ToolRun run : runs) {
                        current = run;
                        BulkEntryReader reader = opened.bulkReader(run.target().path());
                        BulkReadPlan plan =
                                reader.plan(BulkEntryReader.UnpackedEntries.READ, run::isWanted);
                        leaveOut(opened, run, plan);
                        reader.run(plan, this);
                        plan.lost()
                                .forEach(pack -> run.skip(
                                        "a pack cannot be read: " + pack.cause(), pack.entries()));
                    }
                }
            } catch (IOException | ConfigException e) {
                fail(String.valueOf(e.getMessage()));
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt(); // given up
            } catch (Throwable e) { // an error too: the program runs without its files
                fail(SafeText.inOneLine(e));
            }
        }

        private void fail(String cause) {
            if (!isGivenUp) {
                failure = cause;
            }
        }

        private void receive(Entry entry) {
            if (!isGivenUp) {
                current.install(entry);
                local.ifPresent(tier -> tier.store(entry));
            }
        }

        @Override
        public void entries(List<BulkEntryReader.Arrival> batch) {
            batch.forEach(arrival -> receive(arrival.entry()));
        }

        @Override
        public void skipped(int entries, long bytes, String cause) {
            current.skip(cause, entries);
        }

        @Override
        public void received(long bytes) {}
    }
}
