package dev.granary.benchmarks.memory;

/** What is hit, by the name of its method in {@link HitBenchmark}. */
enum HitCandidate {
    MAP("map", "concurrentHashMap"),
    LRU("primitive", "primitive"),
    TINY_LFU("primitive w-tlfu", "primitiveTinyLfu"),
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
     * True for ours, which allocate nothing on a hit; a constant that is asked for comes with a
     * hold of its own, so who uses it often keeps that.
     */
    boolean isOurs() {
        return this == TINY_LFU || isHeldAgainstOthers();
    }

    /**
     * True for those whose hit is to cost hardly more than the map's, and no more than Caffeine's;
     * W-TinyLFU is Caffeine, and a counter.
     */
    boolean isHeldAgainstOthers() {
        return this == LRU || this == RUNTIME_PARAMETERS || this == CONSTANT_HELD;
    }
}
