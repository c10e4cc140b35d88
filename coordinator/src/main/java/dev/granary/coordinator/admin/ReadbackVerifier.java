package dev.granary.coordinator.admin;

import dev.granary.cache.Id;
import dev.granary.cache.LoadResult;
import dev.granary.cache.support.DaemonThreads;
import dev.granary.coordinator.config.BucketConfig;
import dev.granary.coordinator.config.ConfigException;
import dev.granary.coordinator.stores.BucketTierFactory;
import dev.granary.coordinator.stores.SilenceMonitor;
import dev.granary.s3.BucketTier;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.IntConsumer;

/**
 * Reads entries back from the buckets as a process with an empty directory would: each whole and verified, through readers that know nothing from
 * before. Not thread-safe.
 *
 * <p>Only a whole entry counts. An object of the right name may be damaged, and an index on this machine's disk may name a pack that is gone.
 */
public final class ReadbackVerifier {
    /** Without any entry for so long, it ends. */
    public static final Duration SILENCE = Duration.ofSeconds(30);

    private static final int AT_ONCE = 8;
    private static final int ROUNDS = 3;
    private static final Duration PAUSE = Duration.ofSeconds(1);

    private final List<BucketConfig> layers;
    private final Duration silence;
    private final Duration pause;
    private final SilenceMonitor waits = new SilenceMonitor();
    private final AtomicInteger read = new AtomicInteger();
    private final AtomicLong lastNanos = new AtomicLong();

    /** From those buckets, of which the first that has an entry counts. */
    public ReadbackVerifier(List<BucketConfig> layers) {
        this(layers, SILENCE, PAUSE);
    }

    /**
     * Like {@link #ReadbackVerifier(List)}.
     *
     * @param silence without any entry for so long, it ends
     * @param pause how long to wait before what could not be read is read again
     */
    ReadbackVerifier(List<BucketConfig> layers, Duration silence, Duration pause) {
        this.layers = List.copyOf(layers);
        this.silence = silence;
        this.pause = pause;
    }

    /**
     * Reads each of {@code ids}; what fails is tried again, through new readers, up to three times in all.
     *
     * @param progress told how many were read so far, by several threads
     * @return the ids that cannot be read, each with the reason in one line
     * @throws ConfigException if a bucket cannot be opened as configured
     * @throws InterruptedException if the caller was interrupted
     */
    public Map<Id, String> unreadable(Collection<Id> ids, IntConsumer progress) throws ConfigException, InterruptedException {
        lastNanos.set(System.nanoTime());
        Map<Id, String> left = round(new LinkedHashSet<>(ids), progress);
        for (int round = 2; round <= ROUNDS && !left.isEmpty() && !isSilent(); round++) {
            TimeUnit.NANOSECONDS.sleep(pause.toNanos());
            left = round(left.keySet(), progress);
        }
        return left;
    }

    /** The buckets that this may be waiting for. */
    public SilenceMonitor waits() {
        return waits;
    }

    private Map<Id, String> round(Collection<Id> ids, IntConsumer progress) throws ConfigException, InterruptedException {
        List<BucketTier> readers = new ArrayList<>();
        ExecutorService threads = Executors.newFixedThreadPool(AT_ONCE, DaemonThreads.named("granary-readback"));
        try {
            for (BucketConfig layer : layers) {
                BucketTier reader = BucketTierFactory.patient(layer);
                readers.add(reader);
                waits.watch(layer.name(), reader.traffic()::quiet);
            }
            Map<Id, Future<Optional<String>>> answers = new LinkedHashMap<>();
            ids.forEach(id -> answers.put(id, threads.submit(() -> problem(id, readers, progress))));
            Map<Id, String> unreadable = new LinkedHashMap<>();
            for (Map.Entry<Id, Future<Optional<String>>> answer : answers.entrySet()) {
                outcome(answer.getValue()).ifPresent(cause -> unreadable.put(answer.getKey(), cause));
            }
            return unreadable;
        } finally {
            threads.shutdownNow();
            readers.forEach(BucketTier::close);
        }
    }

    private static Optional<String> outcome(Future<Optional<String>> answer) throws InterruptedException {
        try {
            return answer.get();
        } catch (ExecutionException e) {
            return Optional.of(String.valueOf(e.getCause()));
        }
    }

    /** Why no reader has a sound entry of that id; empty where one has. */
    private Optional<String> problem(Id id, List<BucketTier> readers, IntConsumer progress) {
        List<String> causes = new ArrayList<>();
        for (int i = 0; i < readers.size(); i++) {
            if (isSilent()) {
                return Optional.of("nothing could be read for " + silence.toSeconds() + " s");
            }
            String where = readers.size() == 1 ? "" : layers.get(i).name() + ": ";
            switch (readers.get(i).load(id)) {
                case LoadResult.Hit _ -> {
                    lastNanos.set(System.nanoTime());
                    progress.accept(read.incrementAndGet());
                    return Optional.empty();
                }
                case LoadResult.Absent _ -> causes.add(where + "it is not there");
                case LoadResult.Damaged bad -> causes.add(where + "what is there is damaged (" + bad.detail() + ")");
                case LoadResult.Unavailable lost -> causes.add(where + lost.cause());
            }
        }
        return Optional.of(String.join("; ", causes));
    }

    private boolean isSilent() {
        return System.nanoTime() - lastNanos.get() > silence.toNanos();
    }
}
