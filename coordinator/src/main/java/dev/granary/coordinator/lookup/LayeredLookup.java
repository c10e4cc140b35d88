package dev.granary.coordinator.lookup;

import dev.granary.cache.Entry;
import dev.granary.cache.Id;
import dev.granary.coordinator.statistics.LayerStatistics;
import dev.granary.coordinator.stores.OpenLayer;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * Lookup through the buckets, in order, until one has the entry. The {@link LookupTimeBudget}
 * limits the wait for each bucket. One deadline limits the wait for all; each bucket may use an
 * equal share of the time that is left. Thread-safe.
 */
public final class LayeredLookup implements AutoCloseable {
    /**
     * The deadline of a lookup for all layers together, unless the configured wait for one is
     * longer.
     */
    private static final Duration DEADLINE = Duration.ofSeconds(10);

    private final List<LayerClient> all;
    private final CompileTimeEstimate compileTimes;
    private final long deadlineNanos;

    /**
     * Creates a lookup over {@code layers}, with the default deadline.
     *
     * @param bucketWait the initial time budget for each layer
     */
    public LayeredLookup(List<OpenLayer> layers, CompileTimeEstimate compileTimes, Duration bucketWait) {
        this(layers, compileTimes, bucketWait, bucketWait.compareTo(DEADLINE) > 0 ? bucketWait : DEADLINE);
    }

    /**
     * Creates a lookup over {@code layers}.
     *
     * @param bucketWait the initial time budget for each layer
     * @param deadline the longest wait of one lookup for all layers together
     */
    LayeredLookup(List<OpenLayer> layers, CompileTimeEstimate compileTimes, Duration bucketWait, Duration deadline) {
        this.all = layers.stream().map(layer -> new LayerClient(layer, compileTimes, new LookupTimeBudget(compileTimes, bucketWait))).toList();
        this.compileTimes = compileTimes;
        this.deadlineNanos = deadline.toNanos();
    }

    /** An entry with the position of its layer, counted from 0. */
    public record Hit(Entry entry, int position) {}

    /** One lookup in progress through the layers. For one thread. */
    final class Attempt {
        private final Id id;
        private long leftNanos = deadlineNanos;
        private int position;

        private Attempt(Id id) {
            this.id = id;
        }

        /** Returns the next hit; null if none of the remaining layers has the entry. */
        @Nullable Hit next() {
            while (position < all.size() && leftNanos > 0) {
                int current = position++;
                long start = System.nanoTime();
                Optional<Entry> entry = all.get(current).load(id, leftNanos / (all.size() - current));
                leftNanos -= System.nanoTime() - start;
                if (entry.isPresent()) {
                    return new Hit(entry.get(), current);
                }
            }
            return null;
        }
    }

    /** Starts a lookup of {@code id}; sends nothing yet. */
    Attempt start(Id id) {
        return new Attempt(id);
    }

    /** Records that a hit was used instead of a compile. */
    void used(Hit hit) {
        all.get(hit.position()).used(hit.entry());
    }

    /** Discards a hit that the driver rejected. */
    void refused(Hit hit) {
        all.get(hit.position()).refused(hit.entry());
    }

    /** Returns the estimate of compile times. */
    CompileTimeEstimate compileTimes() {
        return compileTimes;
    }

    public List<LayerStatistics> statistics() {
        return all.stream().map(LayerClient::statistics).toList();
    }

    @Override
    public void close() {
        all.forEach(LayerClient::close);
    }
}
