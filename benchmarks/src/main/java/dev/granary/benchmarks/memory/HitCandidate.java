package dev.granary.benchmarks.memory;

/** The candidates of the hits, by the name of their method in {@link HitBenchmark}. */
enum HitCandidate {
    MAP("map", "concurrentHashMap"),
    PRIMITIVE("primitive", "primitive"),
    RUNTIME_PARAMETERS("runtime params", "runtimeParameters"),
    CONSTANT("constant", "constant"),
    CONSTANT_HELD("constant, held", "constantHeld"),
    CAFFEINE("caffeine", "caffeine"),
    GUAVA("guava", "guava");

    private final String label;
    private final String method;

    HitCandidate(String label, String method) {
        this.label = label;
        this.method = method;
    }

    String label() {
        return label;
    }

    String method() {
        return method;
    }

    /**
     * Returns true for the caches of Granary that allocate nothing on a hit. A requested constant
     * has its own hold, so frequent users keep that.
     */
    boolean isOurs() {
        return this == RUNTIME_PARAMETERS || isHeldAgainstOthers();
    }

    /**
     * Returns true for the caches with a goal: little more than the map, and no more than Caffeine.
     */
    boolean isHeldAgainstOthers() {
        return this == PRIMITIVE || this == CONSTANT_HELD;
    }
}
