package dev.granary.coordinator.tuning;

import dev.granary.cache.Entry;
import dev.granary.cache.Id;
import dev.granary.cache.LoadResult;
import dev.granary.cache.RestoreException;
import dev.granary.cache.support.LogOnce;
import dev.granary.coordinator.dispatch.EventSpan;
import dev.granary.coordinator.lookup.LookupTiers;
import dev.granary.gpu.plan.tuning.TunedPlan;
import dev.granary.gpu.plan.tuning.TuningDescriptor;

import org.jspecify.annotations.Nullable;

import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.function.Consumer;
import java.util.function.Function;

/**
 * Reader of the revisions of outcomes. The newest revision is the last of a consecutive sequence,
 * so a reader requests them in order until one is absent. Only revision 0 may be absent before
 * others, since a rule of age removes it first. Thread-safe.
 */
public final class OutcomeRevisions {
    private final LookupTiers tiers;

    /** Creates a reader of the revisions in these tiers. */
    public OutcomeRevisions(LookupTiers tiers) {
        this.tiers = tiers;
    }

    /** Returns the newest usable revision of the local tier, from that of {@code first}. */
    public Optional<TunedPlan> local(TuningDescriptor first) {
        return newest(first, this::load, _ -> {});
    }

    /**
     * Returns the newest usable revision of the layers, from that of {@code first}. The usable ones
     * are stored in the local tier, in place of other outcomes with their revisions.
     */
    public Optional<TunedPlan> inLayers(TuningDescriptor first) {
        return newest(first, this::search, tiers.local()::store);
    }

    /** A request for one revision to the layers, which runs while its caller does other work. */
    public final class Request {
        private final TuningDescriptor descriptor;
        private final CompletableFuture<Optional<Entry>> answer;

        private Request(TuningDescriptor descriptor) {
            this.descriptor = descriptor;
            this.answer = CompletableFuture.supplyAsync(
                    () -> search(descriptor.getId()), Thread::startVirtualThread);
        }

        /** Returns the same as {@link #inLayers}, after a wait for the answer. */
        public Optional<TunedPlan> newest() {
            return OutcomeRevisions.newest(
                    descriptor,
                    id -> id.equals(descriptor.getId()) ? answer() : search(id),
                    tiers.local()::store);
        }

        private Optional<Entry> answer() {
            try {
                return answer.get();
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                return Optional.empty();
            } catch (ExecutionException e) { // an error: a miss
                LogOnce.warn("tuning", "A later outcome of a tuning was not read: " + e.getCause());
                return Optional.empty();
            }
        }
    }

    /** Begins to request the revision of {@code first} from the layers. */
    public Request request(TuningDescriptor first) {
        return new Request(first);
    }

    private Optional<Entry> search(Id id) {
        return tiers.layers().search(List.of(id), (entry, _) -> Optional.of(entry));
    }

    private Optional<Entry> load(Id id) {
        EventSpan span = tiers.local().beginLoad();
        long start = System.nanoTime();
        LoadResult result = tiers.local().cache().load(id);
        tiers.local().count(id, result, System.nanoTime() - start, span);
        return result instanceof LoadResult.Hit(Entry entry)
                ? Optional.of(entry)
                : Optional.empty();
    }

    private static Optional<TunedPlan> newest(
            TuningDescriptor first,
            Function<Id, Optional<Entry>> load,
            Consumer<Entry> whenUsable) {
        @Nullable TunedPlan newest = null;
        for (int i = first.revision(); i < TuningDescriptor.MAX_REVISIONS; i++) {
            TuningDescriptor descriptor = first.revision(i);
            Optional<Entry> entry = load.apply(descriptor.getId());
            if (entry.isEmpty()) {
                if (i == 0) {
                    continue;
                }
                break;
            }
            try {
                newest = TunedPlan.restore(descriptor, entry.get().binaries());
                whenUsable.accept(entry.get());
            } catch (RestoreException e) {
                LogOnce.warn("tuning", "An outcome of a tuning is not used: " + e.getMessage());
            }
        }
        return Optional.ofNullable(newest);
    }
}
