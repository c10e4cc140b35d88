package dev.granary.coordinator.statistics;

import dev.granary.cache.TierStatistics;
import dev.granary.coordinator.statistics.LookupCounter.Unit;

import java.util.OptionalLong;
import java.util.function.Function;
import java.util.function.ToLongFunction;

/**
 * Counter of a tier. A constant is the only declaration of its counter: {@link GranaryStatistics},
 * {@link LayerStatistics}, {@link LifetimeStatistics} and the output of commands contain all
 * constants. Those of buckets are sums over all layers.
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
    KERNEL_MISSES(
            "kernel-misses",
            "programs that were not in memory, or were being looked up",
            memory(GranaryStatistics::memoryMisses)),
    LOCAL_LOOKUPS("local-lookups", "lookups in the local tier", local(TierCounter::lookups)),
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
    LOCAL_READ_BYTES(
            "local-read-bytes",
            Unit.BYTES,
            "the length of the binaries of all hits in the local tier",
            local(TierStatistics.Snapshot::bytesRead)),
    LOCAL_STORED_BYTES(
            "local-stored-bytes",
            Unit.BYTES,
            "the bytes that were written to the local tier",
            local(TierStatistics.Snapshot::bytesStored)),
    LOCAL_TIME(
            "local-micros",
            Unit.MICROSECONDS,
            "the time of all lookups in the local tier",
            local(TierStatistics.Snapshot::loadNanos)),
    BUCKET_LOOKUPS(
            "bucket-lookups",
            "lookups in buckets, without those that skipped one",
            buckets(layer -> lookups(layer.results()))),
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
    BUCKET_READ_BYTES(
            "bucket-read-bytes",
            Unit.BYTES,
            "the length of the binaries of all hits in buckets",
            buckets(layer -> layer.results().bytesRead())),
    BUCKET_STORED_BYTES(
            "bucket-stored-bytes",
            Unit.BYTES,
            "the bytes that were written to buckets",
            buckets(layer -> layer.results().bytesStored())),
    BUCKET_TIME(
            "bucket-micros",
            Unit.MICROSECONDS,
            "the time of all lookups in buckets",
            buckets(layer -> layer.results().loadNanos())),
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
            requests(LayerStatistics.Requests::breakerOpenings));

    private final String label;
    private final Unit unit;
    private final String description;
    private final Source source;

    TierCounter(String label, String description, Source source) {
        this(label, Unit.EVENTS, description, source);
    }

    TierCounter(String label, Unit unit, String description, Source source) {
        this.label = label;
        this.unit = unit;
        this.description = description;
        this.source = source;
    }

    /**
     * Source of the value of a counter.
     *
     * @param total returns the value of a process; empty if the tier is not configured
     * @param ofLayer returns the part of one bucket; empty if it has none
     */
    private record Source(
            Function<GranaryStatistics, OptionalLong> total,
            Function<LayerStatistics, OptionalLong> ofLayer) {}

    private static Source memory(ToLongFunction<GranaryStatistics> value) {
        return new Source(
                statistics -> OptionalLong.of(value.applyAsLong(statistics)),
                _ -> OptionalLong.empty());
    }

    private static Source local(ToLongFunction<TierStatistics.Snapshot> value) {
        return memory(statistics -> value.applyAsLong(statistics.local()));
    }

    private static Source buckets(ToLongFunction<LayerStatistics> value) {
        return layers(layer -> OptionalLong.of(value.applyAsLong(layer)));
    }

    private static Source requests(ToLongFunction<LayerStatistics.Requests> value) {
        return layers(layer -> layer.requests()
                .map(requests -> OptionalLong.of(value.applyAsLong(requests)))
                .orElseGet(OptionalLong::empty));
    }

    private static Source layers(Function<LayerStatistics, OptionalLong> value) {
        return new Source(
                statistics -> statistics.layers().isEmpty()
                        ? OptionalLong.empty()
                        : OptionalLong.of(statistics.layers().stream()
                                .flatMapToLong(layer -> value.apply(layer).stream())
                                .sum()),
                value);
    }

    private static long lookups(TierStatistics.Snapshot results) {
        return results.hits() + results.misses();
    }

    private static long damaged(TierStatistics.Snapshot results) {
        return results.damaged().values().stream().mapToLong(Long::longValue).sum();
    }

    /** Returns the name in files, tables and JSON. */
    public String label() {
        return label;
    }

    /** Returns the unit of the value. */
    public Unit unit() {
        return unit;
    }

    /** Returns the meaning in one sentence, without a full stop. */
    public String description() {
        return description;
    }

    /** Returns the value; empty for a counter of buckets if there are none. */
    OptionalLong value(GranaryStatistics statistics) {
        return inUnit(source.total().apply(statistics));
    }

    /** Returns the part of one bucket; empty if the counter has none. */
    OptionalLong value(LayerStatistics layer) {
        return inUnit(source.ofLayer().apply(layer));
    }

    private OptionalLong inUnit(OptionalLong counted) {
        return counted.isPresent()
                ? OptionalLong.of(unit.of(counted.getAsLong()))
                : OptionalLong.empty();
    }
}
