package dev.granary.coordinator.statistics;

import dev.granary.cache.TierStatistics;

import java.util.List;
import java.util.OptionalLong;
import java.util.function.Function;
import java.util.function.ToLongFunction;

/**
 * Counter of the tiers in {@link LifetimeStatistics}, derived from {@link GranaryStatistics}. Those
 * of buckets are sums over all layers.
 */
public enum TierCounter {
    PRIMITIVE_HITS(
            "primitive-hits",
            "composite primitives that were in memory already, or were being created",
            memory(statistics -> statistics.composites().hits())),
    PRIMITIVES_CREATED(
            "primitives-created",
            "composite primitives that were created",
            memory(statistics -> statistics.composites().created())),
    NESTED_HITS(
            "nested-hits",
            "nested primitives that were in memory already, or were being created",
            memory(statistics -> statistics.composites().nestedHits())),
    NESTED_CREATED(
            "nested-created",
            "nested primitives that were created",
            memory(statistics -> statistics.composites().nestedCreated())),
    KERNEL_HITS(
            "kernel-hits",
            "programs that were in memory already",
            memory(GranaryStatistics::memoryHits)),
    LOCAL_HITS(
            "local-hits",
            "lookups that found a verified entry in the local tier",
            local(TierStatistics.Snapshot::hits)),
    LOCAL_DAMAGED(
            "local-damaged",
            "lookups that found a damaged entry in the local tier",
            local(TierCounter::damaged)),
    LOCAL_STORED(
            "local-stored",
            "entries that were written to the local tier",
            local(TierStatistics.Snapshot::stored)),
    BUCKET_HITS(
            "bucket-hits",
            "lookups that found a verified entry in a bucket",
            buckets(layer -> layer.results().hits())),
    BUCKET_DAMAGED(
            "bucket-damaged",
            "lookups that found a damaged entry in a bucket",
            buckets(layer -> damaged(layer.results()))),
    BUCKET_UNAVAILABLE(
            "bucket-unavailable",
            "lookups that got no answer from a bucket",
            buckets(layer -> layer.results().unavailable())),
    BUCKET_SKIPPED(
            "bucket-skipped",
            "lookups that skipped a bucket because its time budget was used up",
            buckets(LayerStatistics::skipped)),
    BUCKET_STORED(
            "bucket-stored",
            "entries that were written to a bucket",
            buckets(layer -> layer.results().stored())),
    BUCKET_REQUESTS(
            "bucket-requests",
            "requests that were sent to buckets, retries included",
            requests(LayerStatistics.Requests::sent)),
    BUCKET_RETRIES(
            "bucket-retries",
            "reads of buckets that were retried after a failure",
            requests(LayerStatistics.Requests::retries)),
    BREAKER_OPENINGS(
            "breaker-openings",
            "how often the circuit breaker of a bucket opened",
            requests(LayerStatistics.Requests::breakerOpenings)),
    LOST_PACKS_FORGOTTEN(
            "lost-packs-forgotten",
            "lost packs that were removed from the manifest",
            buckets(layer -> layer.lostPacks().forgotten())),
    LOST_PACKS_FAILURES(
            "lost-packs-failures",
            "failed attempts to remove lost packs from the manifest",
            buckets(layer -> layer.lostPacks().failures()));

    private final String label;
    private final String description;
    private final Function<GranaryStatistics, OptionalLong> value;

    TierCounter(String label, String description, Function<GranaryStatistics, OptionalLong> value) {
        this.label = label;
        this.description = description;
        this.value = value;
    }

    private static Function<GranaryStatistics, OptionalLong> memory(
            ToLongFunction<GranaryStatistics> value) {
        return statistics -> OptionalLong.of(value.applyAsLong(statistics));
    }

    private static Function<GranaryStatistics, OptionalLong> local(
            ToLongFunction<TierStatistics.Snapshot> value) {
        return statistics -> OptionalLong.of(value.applyAsLong(statistics.local()));
    }

    private static Function<GranaryStatistics, OptionalLong> buckets(
            ToLongFunction<LayerStatistics> value) {
        return statistics -> {
            List<LayerStatistics> layers = statistics.layers();
            return layers.isEmpty()
                    ? OptionalLong.empty()
                    : OptionalLong.of(layers.stream().mapToLong(value).sum());
        };
    }

    private static Function<GranaryStatistics, OptionalLong> requests(
            ToLongFunction<LayerStatistics.Requests> value) {
        return buckets(layer -> layer.requests().stream().mapToLong(value).sum());
    }

    private static long damaged(TierStatistics.Snapshot results) {
        return results.damaged().values().stream().mapToLong(Long::longValue).sum();
    }

    /** Returns the name in files, tables and JSON. */
    public String label() {
        return label;
    }

    /** Returns the meaning in one sentence, without a full stop. */
    public String description() {
        return description;
    }

    /** Returns the value; empty for a counter of buckets if there are none. */
    OptionalLong value(GranaryStatistics statistics) {
        return value.apply(statistics);
    }
}
