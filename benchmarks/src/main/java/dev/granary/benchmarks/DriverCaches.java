package dev.granary.benchmarks;

import java.util.Map;
import java.util.Optional;

/**
 * The drivers' own caches, which a benchmark must not measure. One thread at a time compiles or takes binaries in a benchmark, so PoCL's
 * cache can be off altogether: each round must compile.
 */
public final class DriverCaches {
    /** The environment variables that switch them off; {@code ./granary bench} sets them. */
    public static final Map<String, String> OFF = Map.of("POCL_KERNEL_CACHE", "0", "NEO_CACHE_PERSISTENT", "0", "CUDA_CACHE_DISABLE", "1");

    private DriverCaches() {}

    /** What to do where one of them is on in this process; empty where all are off. */
    public static Optional<String> remedy() {
        return OFF.entrySet().stream()
                .filter(off -> !off.getValue().equals(System.getenv(off.getKey())))
                .map(off -> "Set " + off.getKey() + "=" + off.getValue() + " in the environment: the driver's own cache would be measured")
                .findFirst();
    }
}
