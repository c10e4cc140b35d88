package dev.granary.demo;

import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * Environment variables that disable the drivers' own caches. Otherwise these would be measured
 * instead of Granary.
 *
 * <p>PoCL gets a new, empty cache directory for each process. With {@code POCL_KERNEL_CACHE=0},
 * PoCL 3.1 aborts when one thread takes binaries while another compiles.
 */
public final class DriverCacheSettings {
    /**
     * The variables of a process in which only one thread at a time compiles or takes binaries,
     * such as a benchmark: there PoCL's cache can be disabled.
     */
    public static final Map<String, String> ONE_THREAD = Map.of(
            "POCL_KERNEL_CACHE", "0", "NEO_CACHE_PERSISTENT", "0", "CUDA_CACHE_DISABLE", "1");

    private static final Map<String, String> OFF =
            Map.of("NEO_CACHE_PERSISTENT", "0", "CUDA_CACHE_DISABLE", "1");

    private DriverCacheSettings() {}

    /**
     * Returns the variables of a process without driver caches.
     *
     * @param fresh a directory that no process has used
     */
    public static Map<String, String> variables(Path fresh) {
        Map<String, String> variables = new LinkedHashMap<>(OFF);
        variables.put("POCL_CACHE_DIR", fresh.toString());
        return variables;
    }

    /**
     * Returns the change of the environment that {@link #ONE_THREAD} needs in this process; empty
     * if none.
     */
    public static Optional<String> remedy() {
        return ONE_THREAD.entrySet().stream()
                .filter(off -> !off.getValue().equals(System.getenv(off.getKey())))
                .map(off -> "Set " + off.getKey() + "=" + off.getValue()
                        + " in the environment: the driver's own cache would be measured")
                .findFirst();
    }

    /** Returns a line for each disabled cache. */
    public static List<String> described() {
        return List.of(
                "PoCL (POCL_CACHE_DIR new and empty for each process)",
                "Intel (NEO_CACHE_PERSISTENT=0)",
                "NVIDIA (CUDA_CACHE_DISABLE=1)");
    }
}
