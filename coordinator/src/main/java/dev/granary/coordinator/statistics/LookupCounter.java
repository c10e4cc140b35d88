package dev.granary.coordinator.statistics;

/**
 * Counter of lookups, besides those of the tiers. A constant is the only declaration of its
 * counter: {@link GranaryStatistics}, {@link LifetimeStatistics} and the output of commands contain
 * all constants.
 */
public enum LookupCounter {
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
    REFUSED_BY_DRIVER(
            "refused-by-driver",
            "verified binaries that the driver rejected; each was compiled again, and discarded"
                    + " from its own namespace"),
    INCOMPATIBLE(
            "incompatible",
            "entries whose binaries are for another device or malformed; each was discarded"
                    + " without a driver call"),
    RECOMPILED_BY_DRIVER(
            "recompiled-by-driver",
            "binaries that the driver accepted but compiled again; the new ones replace them"),
    CROSS_NAMESPACE(
            "cross-namespace",
            "hits of an entry of another backend; the binaries that the driver returns are stored"
                    + " in the own namespace as well"),
    QUARANTINED(
            "quarantined",
            "entries that were not tried because of the quarantine, counted once per tier"),
    WITHOUT_BINARIES("without-binaries", "compiled primitives whose driver returned no binaries"),
    DROPPED("dropped", "entries that could not be stored, or not be queued for upload"),
    LEFT_FOR_LATER("left-for-later", "uploads that were left to the next process"),
    ADOPTED("adopted", "uploads that were taken over from ended processes"),
    WAITED("waited", "hits in the local tier after a wait for another process"),
    WAITS_GIVEN_UP(
            "waits-given-up",
            "lookups that went on because a wait for another process took too long"),
    CLAIMS_UNAVAILABLE(
            "claims-unavailable",
            "lookups that could not wait because claims do not work in the directory"),
    RECORDED("recorded", "kernels and their ids that were added to a recording"),
    RECORD_FAILURES(
            "record-failures",
            "failed attempts to write the recording; the next one writes the same kernels"),
    EVICTED("evicted", "entries that a process evicted from the local directory"),
    MEMORY_EVICTED("memory-evicted", "programs that were evicted from memory"),
    EVENTS_DROPPED(
            "events-dropped", "events that a listener did not receive because it was too slow"),
    COMPILE_TIME("compile-millis", Unit.MILLISECONDS, "the time spent compiling"),
    TIME_SAVED(
            "saved-millis",
            Unit.MILLISECONDS,
            "the stored compile time of all hits, less the time to load them");

    private final String label;
    private final Unit unit;
    private final String description;

    LookupCounter(String label, String description) {
        this(label, Unit.EVENTS, description);
    }

    LookupCounter(String label, Unit unit, String description) {
        this.label = label;
        this.unit = unit;
        this.description = description;
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

        /** Converts a counted value, in events or nanoseconds, to this unit. */
        long of(long counted) {
            return counted / divisor;
        }
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
}
