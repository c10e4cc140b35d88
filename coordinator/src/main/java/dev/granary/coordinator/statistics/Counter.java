package dev.granary.coordinator.statistics;

import java.util.EnumSet;
import java.util.Locale;
import java.util.Optional;
import java.util.Set;

/**
 * Counter of a cache. A constant is the only declaration of its counter: {@link GranaryStatistics},
 * the totals, the output of commands and the metrics have all constants, under its name. Those of
 * layers are sums over all layers.
 */
public enum Counter {
    COMPOSITE_HITS("composite primitives that were in memory already, or were being created"),
    COMPOSITES_CREATED("composite primitives that were created"),
    NESTED_HITS("nested primitives that were in memory already, or were being created"),
    NESTED_CREATED("nested primitives that were created"),
    PROGRAM_HITS("programs that were in memory already"),
    PROGRAM_MISSES("programs that were not in memory, or were being looked up"),
    LOCAL_LOOKUPS("lookups in the local tier"),
    LOCAL_HITS("lookups that found a verified entry in the local tier"),
    LOCAL_DAMAGED("lookups that found a damaged entry in the local tier"),
    LOCAL_UNTRUSTED("lookups that found an entry without a required signature in the local tier"),
    LOCAL_STORED("entries that were written to the local tier"),
    LOCAL_READ_BYTES(Unit.BYTES, "the length of the binaries of all hits in the local tier"),
    LOCAL_STORED_BYTES(Unit.BYTES, "the bytes that were written to the local tier"),
    LOCAL_TIME(Unit.MICROSECONDS, "the time of all lookups in the local tier"),
    LAYER_LOOKUPS("lookups in layers, without those that skipped one"),
    LAYER_HITS("lookups that found a verified entry in a layer"),
    LAYER_DAMAGED("lookups that found a damaged entry in a layer"),
    LAYER_UNTRUSTED("lookups that found an entry without a signature that the layer requires"),
    LAYER_UNAVAILABLE("lookups that got no answer from a layer"),
    LAYER_SKIPPED("lookups that skipped a layer because its time budget was used up"),
    LAYER_STORED("entries that were written to a layer"),
    LAYER_READ_BYTES(Unit.BYTES, "the length of the binaries of all hits in layers"),
    LAYER_STORED_BYTES(Unit.BYTES, "the bytes that were written to layers"),
    LAYER_TIME(Unit.MICROSECONDS, "the time of all lookups in layers"),
    BUCKET_REQUESTS("requests that were sent to buckets, retries included"),
    BUCKET_RETRIES("reads of buckets that were retried after a failure"),
    BREAKER_OPENINGS("how often the circuit breaker of a bucket opened"),
    COMPILED("primitives that were compiled from source"),
    COMPILED_AGAIN("repeated compiles of a primitive of one process, for another engine"),
    INTERMEDIATE_HITS("intermediate programs that a tier had, so that no front end had to run"),
    INTERMEDIATE_COMPILED("intermediate programs that a front end compiled"),
    COMPILE_FAILURES("sources that did not compile"),
    NOT_CACHEABLE("primitives that were compiled from source because their id is empty"),
    DISABLED("primitives that were compiled from source because their engine is disabled"),
    RESTORES_REFUSED("verified binaries that the driver rejected; each was compiled again, and"
            + " discarded from its own namespace"),
    RESTORES_INCOMPATIBLE("entries whose binaries are for another device or malformed; each was"
            + " discarded without a driver call"),
    RESTORES_RECOMPILED(
            "binaries that the driver accepted but compiled again; the new ones replace them"),
    CROSS_NAMESPACE("hits of an entry of another backend; the binaries that the driver returns"
            + " are stored in the own namespace as well"),
    RESTORES_QUARANTINED(
            "entries that were not tried because of the quarantine, counted once per tier"),
    WITHOUT_BINARIES("compiled primitives whose driver returned no binaries"),
    STORES_DROPPED("entries that could not be stored, or not be queued for upload"),
    UPLOADS_LEFT("uploads that were left to the next process"),
    UPLOADS_INHERITED("uploads that were taken over from ended processes"),
    CLAIM_HITS("hits in the local tier after a wait for another process"),
    CLAIM_WAITS_GIVEN_UP("lookups that went on because a wait for another process took too long"),
    CLAIMS_UNAVAILABLE("lookups that could not wait because claims do not work in the directory"),
    FLEET_CLAIMS("absent entries that this machine compiled for the others"),
    FLEET_WAITS("waits for the compile of another machine"),
    FLEET_WAIT_HITS("entries that came by the compile of another machine"),
    FLEET_WAIT_EXPIRED("waits for another machine that ended without the entry"),
    FLEET_TAKEOVERS("claims of other machines that were taken over"),
    RECORDED("kernels and their ids that were added to a recording"),
    RECORD_FAILURES("failed attempts to write the recording; the next one writes the same kernels"),
    LOCAL_EVICTED("entries that a process evicted from the local directory"),
    PROGRAMS_EVICTED("programs that were evicted from memory"),
    EVENTS_DROPPED("events that a listener did not receive because it was too slow"),
    COMPILE_TIME(Unit.MILLISECONDS, "the time spent compiling"),
    SAVED_TIME(
            Unit.MILLISECONDS, "the stored compile time of all hits, less the time to load them");

    private static final Set<Counter> OF_LAYERS = EnumSet.range(LAYER_LOOKUPS, BREAKER_OPENINGS);
    private static final String PREFIX = "granary.";

    private final String label;
    private final Unit unit;
    private final String description;

    Counter(String description) {
        this(Unit.EVENTS, description);
    }

    Counter(Unit unit, String description) {
        this.label = name().toLowerCase(Locale.ROOT)
                .replace('_', '-')
                .replaceFirst("-time$", "-" + unit.ending);
        this.unit = unit;
        this.description = description;
    }

    /** Unit of a counter. Times are counted in nanoseconds, else sums of short ones were lost. */
    private enum Unit {
        EVENTS(1, "", 1, "created", "creations"), // Prometheus reserves the ending "created"
        BYTES(1, "bytes", 1, "bytes", "size"),
        MICROSECONDS(1_000, "seconds", 1e6, "micros", "time"),
        MILLISECONDS(1_000_000, "seconds", 1e3, "millis", "time");

        private final long divisor; // of what is counted
        private final String base; // the base unit in monitoring systems; empty for events
        private final double perBase;
        private final String ending; // of the label
        private final String metricEnding; // in its place

        Unit(long divisor, String base, double perBase, String ending, String metricEnding) {
            this.divisor = divisor;
            this.base = base;
            this.perBase = perBase;
            this.ending = ending;
            this.metricEnding = metricEnding;
        }
    }

    /** Returns the name in files, tables and JSON. */
    public String label() {
        return label;
    }

    /** Returns the meaning in one sentence, without a full stop. */
    public String description() {
        return description;
    }

    /** Returns true if the value is a sum over the layers. */
    public boolean isOfLayers() {
        return OF_LAYERS.contains(this);
    }

    /** Converts counted events or nanoseconds to the unit. */
    long inUnit(long counted) {
        return counted / unit.divisor;
    }

    /**
     * Returns the name in monitoring systems, in words with dots, such as
     * {@code granary.compile.time}. They count in base units, seconds and bytes.
     */
    public String metricName() {
        return PREFIX
                + label.replaceFirst("-" + unit.ending + "$", "-" + unit.metricEnding)
                        .replace('-', '.');
    }

    /** Returns {@code seconds} or {@code bytes}; empty for events. */
    public Optional<String> baseUnit() {
        return unit.base.isEmpty() ? Optional.empty() : Optional.of(unit.base);
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
        return value / unit.perBase;
    }

    boolean isTime() {
        return unit.base.equals("seconds");
    }
}
