package dev.granary.coordinator.statistics;

import dev.granary.coordinator.statistics.GranaryStatistics.LayerStatistics;
import dev.granary.coordinator.statistics.GranaryStatistics.TierStatistics;

import java.util.Optional;
import java.util.OptionalLong;
import java.util.function.Function;
import java.util.function.ToLongFunction;

/**
 * Counter of a cache. A constant is the only declaration of its counter: {@link GranaryStatistics},
 * {@link LayerStatistics}, the totals, the output of commands and the metrics have all constants.
 * Those of layers are sums over all layers.
 */
public enum Counter {
    COMPOSITE_HITS(
            "composite-hits",
            "composite primitives that were in memory already, or were being created",
            process(statistics -> statistics.composites().hits())),
    COMPOSITES_CREATED(
            "composites-created",
            "composite primitives that were created",
            process(statistics -> statistics.composites().created())),
    NESTED_HITS(
            "nested-hits",
            "nested primitives that were in memory already, or were being created",
            process(statistics -> statistics.composites().nestedHits())),
    NESTED_CREATED(
            "nested-created",
            "nested primitives that were created",
            process(statistics -> statistics.composites().nestedCreated())),
    PROGRAM_HITS(
            "program-hits",
            "programs that were in memory already",
            process(GranaryStatistics::memoryHits)),
    PROGRAM_MISSES(
            "program-misses",
            "programs that were not in memory, or were being looked up",
            process(GranaryStatistics::memoryMisses)),
    LOCAL_LOOKUPS("local-lookups", "lookups in the local tier", local(Counter::lookups)),
    LOCAL_HITS(
            "local-hits",
            "lookups that found a verified entry in the local tier",
            local(TierStatistics::hits)),
    LOCAL_DAMAGED(
            "local-damaged",
            "lookups that found a damaged entry in the local tier",
            local(Counter::damaged)),
    LOCAL_STORED(
            "local-stored",
            "entries that were written to the local tier",
            local(TierStatistics::stored)),
    LOCAL_READ_BYTES(
            "local-read-bytes",
            Unit.BYTES,
            "the length of the binaries of all hits in the local tier",
            local(TierStatistics::bytesRead)),
    LOCAL_STORED_BYTES(
            "local-stored-bytes",
            Unit.BYTES,
            "the bytes that were written to the local tier",
            local(TierStatistics::bytesStored)),
    LOCAL_TIME(
            "local-micros",
            Unit.MICROSECONDS,
            "the time of all lookups in the local tier",
            local(TierStatistics::loadNanos)),
    LAYER_LOOKUPS(
            "layer-lookups",
            "lookups in layers, without those that skipped one",
            layers(layer -> lookups(layer.results()))),
    LAYER_HITS(
            "layer-hits",
            "lookups that found a verified entry in a layer",
            layers(layer -> layer.results().hits())),
    LAYER_DAMAGED(
            "layer-damaged",
            "lookups that found a damaged entry in a layer",
            layers(layer -> damaged(layer.results()))),
    LAYER_UNAVAILABLE(
            "layer-unavailable",
            "lookups that got no answer from a layer",
            layers(layer -> layer.results().unavailable())),
    LAYER_SKIPPED(
            "layer-skipped",
            "lookups that skipped a layer because its time budget was used up",
            layers(LayerStatistics::skipped)),
    LAYER_STORED(
            "layer-stored", "entries that were written to a layer", layers(layer -> layer.results()
                    .stored())),
    LAYER_READ_BYTES(
            "layer-read-bytes",
            Unit.BYTES,
            "the length of the binaries of all hits in layers",
            layers(layer -> layer.results().bytesRead())),
    LAYER_STORED_BYTES(
            "layer-stored-bytes",
            Unit.BYTES,
            "the bytes that were written to layers",
            layers(layer -> layer.results().bytesStored())),
    LAYER_TIME(
            "layer-micros",
            Unit.MICROSECONDS,
            "the time of all lookups in layers",
            layers(layer -> layer.results().loadNanos())),
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
    COMPILED("compiled", "primitives that were compiled from source"),
    COMPILED_AGAIN(
            "compiled-again",
            "repeated compiles of a primitive of one process, for another engine"),
    INTERMEDIATE_HITS(
            "intermediate-hits",
            "intermediate programs that a tier had, so that no front end had to run"),
    INTERMEDIATE_COMPILED(
            "intermediate-compiled", "intermediate programs that a front end compiled"),
    COMPILE_FAILURES("compile-failures", "sources that did not compile"),
    NOT_CACHEABLE(
            "not-cacheable", "primitives that were compiled from source because their id is empty"),
    DISABLED(
            "disabled",
            "primitives that were compiled from source because their engine is disabled"),
    RESTORES_REFUSED(
            "restores-refused",
            "verified binaries that the driver rejected; each was compiled again, and discarded"
                    + " from its own namespace"),
    RESTORES_INCOMPATIBLE(
            "restores-incompatible",
            "entries whose binaries are for another device or malformed; each was discarded"
                    + " without a driver call"),
    RESTORES_RECOMPILED(
            "restores-recompiled",
            "binaries that the driver accepted but compiled again; the new ones replace them"),
    CROSS_NAMESPACE(
            "cross-namespace",
            "hits of an entry of another backend; the binaries that the driver returns are stored"
                    + " in the own namespace as well"),
    RESTORES_QUARANTINED(
            "restores-quarantined",
            "entries that were not tried because of the quarantine, counted once per tier"),
    WITHOUT_BINARIES("without-binaries", "compiled primitives whose driver returned no binaries"),
    STORES_DROPPED(
            "stores-dropped", "entries that could not be stored, or not be queued for upload"),
    UPLOADS_LEFT("uploads-left", "uploads that were left to the next process"),
    UPLOADS_INHERITED("uploads-inherited", "uploads that were taken over from ended processes"),
    CLAIM_HITS("claim-hits", "hits in the local tier after a wait for another process"),
    CLAIM_WAITS_GIVEN_UP(
            "claim-waits-given-up",
            "lookups that went on because a wait for another process took too long"),
    CLAIMS_UNAVAILABLE(
            "claims-unavailable",
            "lookups that could not wait because claims do not work in the directory"),
    FLEET_CLAIMS("fleet-claims", "absent entries that this machine compiled for the others"),
    FLEET_WAITS("fleet-waits", "waits for the compile of another machine"),
    FLEET_WAIT_HITS("fleet-wait-hits", "entries that came by the compile of another machine"),
    FLEET_WAIT_EXPIRED(
            "fleet-wait-expired", "waits for another machine that ended without the entry"),
    FLEET_TAKEOVERS("fleet-takeovers", "claims of other machines that were taken over"),
    RECORDED("recorded", "kernels and their ids that were added to a recording"),
    RECORD_FAILURES(
            "record-failures",
            "failed attempts to write the recording; the next one writes the same kernels"),
    LOCAL_EVICTED("local-evicted", "entries that a process evicted from the local directory"),
    PROGRAMS_EVICTED("programs-evicted", "programs that were evicted from memory"),
    EVENTS_DROPPED(
            "events-dropped", "events that a listener did not receive because it was too slow"),
    COMPILE_TIME("compile-millis", Unit.MILLISECONDS, "the time spent compiling"),
    TIME_SAVED(
            "saved-millis",
            Unit.MILLISECONDS,
            "the stored compile time of all hits, less the time to load them");

    private static final String PREFIX = "granary.";
    private static final double MILLIS_PER_SECOND = 1e3;
    private static final double MICROS_PER_SECOND = 1e6;

    private final String label;
    private final Unit unit;
    private final String description;
    private final Source source;

    /** Creates a counter that is counted one by one. */
    Counter(String label, String description) {
        this(label, Unit.EVENTS, description);
    }

    Counter(String label, Unit unit, String description) {
        this.label = label;
        this.unit = unit;
        this.description = description;
        this.source = process(statistics -> statistics.counted().getOrDefault(this, 0L));
    }

    Counter(String label, String description, Source source) {
        this(label, Unit.EVENTS, description, source);
    }

    Counter(String label, Unit unit, String description, Source source) {
        this.label = label;
        this.unit = unit;
        this.description = description;
        this.source = source;
    }

    /** Unit of a counter. */
    public enum Unit {
        /** Events. */
        EVENTS(1),
        /** Bytes. */
        BYTES(1),
        /** Microseconds. Counted in nanoseconds, as milliseconds are. */
        MICROSECONDS(1_000),
        /** Milliseconds. Counted in nanoseconds, since the sum of short times would be lost. */
        MILLISECONDS(1_000_000);

        private final long divisor;

        Unit(long divisor) {
            this.divisor = divisor;
        }
    }

    /**
     * Source of the value of a counter, in events or nanoseconds.
     *
     * @param total returns the value of a process; empty if the tier is not configured
     * @param ofLayer returns the part of one layer, if it has one; empty for other counters
     */
    private record Source(
            Function<GranaryStatistics, OptionalLong> total,
            Optional<Function<LayerStatistics, OptionalLong>> ofLayer) {}

    private static Source process(ToLongFunction<GranaryStatistics> value) {
        return new Source(
                statistics -> OptionalLong.of(value.applyAsLong(statistics)), Optional.empty());
    }

    private static Source local(ToLongFunction<TierStatistics> value) {
        return process(statistics -> value.applyAsLong(statistics.local()));
    }

    private static Source layers(ToLongFunction<LayerStatistics> value) {
        return sum(layer -> OptionalLong.of(value.applyAsLong(layer)));
    }

    private static Source requests(ToLongFunction<LayerStatistics.Requests> value) {
        return sum(layer -> layer.requests()
                .map(requests -> OptionalLong.of(value.applyAsLong(requests)))
                .orElseGet(OptionalLong::empty));
    }

    private static Source sum(Function<LayerStatistics, OptionalLong> value) {
        return new Source(
                statistics -> statistics.layers().isEmpty()
                        ? OptionalLong.empty()
                        : OptionalLong.of(statistics.layers().stream()
                                .flatMapToLong(layer -> value.apply(layer).stream())
                                .sum()),
                Optional.of(value));
    }

    private static long lookups(TierStatistics results) {
        return results.hits() + results.misses();
    }

    private static long damaged(TierStatistics results) {
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

    /** Returns the value in its unit; empty for a counter of layers if there are none. */
    OptionalLong value(GranaryStatistics statistics) {
        return inUnit(source.total().apply(statistics));
    }

    /** Returns true if the value is a sum over the layers. */
    public boolean isOfLayers() {
        return source.ofLayer().isPresent();
    }

    /** Returns the part of one layer in its unit; empty if the counter has none. */
    OptionalLong value(LayerStatistics layer) {
        return inUnit(
                source.ofLayer().map(value -> value.apply(layer)).orElseGet(OptionalLong::empty));
    }

    /** Returns the value in events or nanoseconds. */
    long counted(GranaryStatistics statistics) {
        return source.total().apply(statistics).orElse(0);
    }

    private OptionalLong inUnit(OptionalLong counted) {
        return counted.isPresent()
                ? OptionalLong.of(counted.getAsLong() / unit.divisor)
                : OptionalLong.empty();
    }

    /**
     * Returns the name in monitoring systems, in words with dots, such as
     * {@code granary.compile.time}. They count in base units, seconds and bytes.
     */
    public String metricName() {
        String words =
                switch (unit) {
                    // Prometheus reserves the ending
                    case EVENTS -> label.replaceFirst("-created$", "-creations");
                    case BYTES -> label.replaceFirst("-bytes$", "-size");
                    case MILLISECONDS -> label.replaceFirst("-millis$", "-time");
                    case MICROSECONDS -> label.replaceFirst("-micros$", "-time");
                };
        return PREFIX + words.replace('-', '.');
    }

    /** Returns {@code seconds} or {@code bytes}; empty for events. */
    public Optional<String> baseUnit() {
        return switch (unit) {
            case EVENTS -> Optional.empty();
            case BYTES -> Optional.of("bytes");
            case MILLISECONDS, MICROSECONDS -> Optional.of("seconds");
        };
    }

    /**
     * Returns the name by the rules of Prometheus, such as
     * {@code granary_compile_time_seconds_total}.
     */
    public String prometheusName() {
        return metricName().replace('.', '_')
                + baseUnit().map(each -> "_" + each).orElse("") + "_total";
    }

    /** Converts a value from the unit of this counter to the base unit. */
    public double inBaseUnit(long value) {
        return switch (unit) {
            case EVENTS, BYTES -> value;
            case MILLISECONDS -> value / MILLIS_PER_SECOND;
            case MICROSECONDS -> value / MICROS_PER_SECOND;
        };
    }
}
