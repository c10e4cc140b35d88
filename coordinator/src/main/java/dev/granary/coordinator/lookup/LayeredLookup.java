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
 * The buckets of a look-up, asked in order until one has the entry: each no longer than that is {@link LookupTimeBudget}, and all together within one
 * deadline, of which each may use an equal share of what those before it have left. Thread-safe.
 */
public final class LayeredLookup implements AutoCloseable {
    /** How long a look-up may wait for all layers together, however many there are, unless more was configured for one. */
    private static final Duration DEADLINE = Duration.ofSeconds(10);

    private final List<LayerClient> all;
    private final CompileTimeEstimate cost;
    private final long deadlineNanos;

    /**
     * Over those layers.
     *
     * @param wait how long look-ups may wait for one layer in vain, in all
     */
    public LayeredLookup(List<OpenLayer> layers, CompileTimeEstimate cost, Duration wait) {
        this(layers, cost, wait, wait.compareTo(DEADLINE) > 0 ? wait : DEADLINE);
    }

    /**
     * Over those layers.
     *
     * @param wait how long look-ups may wait for one layer in vain, in all
     * @param deadline how long one look-up may wait for all of them together
     */
    LayeredLookup(List<OpenLayer> layers, CompileTimeEstimate cost, Duration wait, Duration deadline) {
        this.all = layers.stream().map(layer -> new LayerClient(layer, cost, new LookupTimeBudget(cost, wait))).toList();
        this.cost = cost;
        this.deadlineNanos = deadline.toNanos();
    }

    /** An entry, and the position of the layer that had it, counted from 0. */
    public record Hit(Entry entry, int position) {}

    /** One look-up on its way through the layers. For one thread. */
    final class Passage {
        private final Id id;
        private long left = deadlineNanos;
        private int position;

        private Passage(Id id) {
            this.id = id;
        }

        /** The next hit, or null where no layer that is left has one. */
        @Nullable Hit next() {
            while (position < all.size() && left > 0) {
                int asked = position++;
                long start = System.nanoTime();
                Optional<Entry> entry = all.get(asked).ask(id, left / (all.size() - asked));
                left -= System.nanoTime() - start;
                if (entry.isPresent()) {
                    return new Hit(entry.get(), asked);
                }
            }
            return null;
        }
    }

    /** Begins to look for {@code id}. */
    Passage look(Id id) {
        return new Passage(id);
    }

    /** A hit was used, in place of compiling. */
    void used(Hit hit) {
        all.get(hit.position()).used(hit.entry());
    }

    /** The driver would not take a hit. */
    void refused(Hit hit) {
        all.get(hit.position()).refused(hit.entry());
    }

    /** What compiling costs, as far as it is known. */
    CompileTimeEstimate cost() {
        return cost;
    }

    public List<LayerStatistics> statistics() {
        return all.stream().map(LayerClient::statistics).toList();
    }

    @Override
    public void close() {
        all.forEach(LayerClient::close);
    }
}
