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
                    read(local.get(), TrustPolicy.OFF, run, run::install);
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

    /** Passes the wanted entries of a directory to {@code sink}. */
    private static void read(
            EntryCatalog catalog, TrustPolicy trust, ToolRun run, Consumer<Entry> sink)
            throws IOException {
        List<EntryCatalog.Listed> wanted = new ArrayList<>();
        catalog.list(listed -> {
            if (listed.namespace().equals(run.target().path()) && run.isWanted(listed.hash())) {
                wanted.add(listed);
            }
        });
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
                    for (ToolRun run : runs) {
                        current = run;
                        read(EntryFiles.shared(shared.path()), shared.trust(), run, this::receive);
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
