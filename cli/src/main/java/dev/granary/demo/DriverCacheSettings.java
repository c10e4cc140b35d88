package dev.granary.demo;

import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * The drivers' own caches: kept out of the demo's processes, or they would be measured instead of Granary.
 *
 * <p>PoCL gets a new, empty cache directory for each process rather than {@code POCL_KERNEL_CACHE=0}: switched off like that, PoCL 3.1 aborts
 * when one thread takes binaries while another compiles.
 */
public final class DriverCacheSettings {
    /**
     * The environment variables of a process in which one thread at a time compiles or takes binaries, such as a benchmark: there PoCL's cache
     * can be off altogether.
     */
    public static final Map<String, String> ONE_THREAD = Map.of("POCL_KERNEL_CACHE", "0", "NEO_CACHE_PERSISTENT", "0", "CUDA_CACHE_DISABLE", "1");

    private static final Map<String, String> OFF = Map.of("NEO_CACHE_PERSISTENT", "0", "CUDA_CACHE_DISABLE", "1");

    private DriverCacheSettings() {}

    /** The environment variables of a process without lower caches; {@code fresh} is a directory that no process has used. */
    public static Map<String, String> variables(Path fresh) {
        Map<String, String> variables = new LinkedHashMap<>(OFF);
        variables.put("POCL_CACHE_DIR", fresh.toString());
        return variables;
    }

    /** The change of the environment after which {@link #ONE_THREAD} holds in this process; empty if it does. */
    public static Optional<String> remedy() {
        return ONE_THREAD.entrySet().stream()
                .filter(off -> !off.getValue().equals(System.getenv(off.getKey())))
                .map(off -> "Set " + off.getKey() + "=" + off.getValue() + " in the environment: the driver's own cache would be measured")
                .findFirst();
    }

    /** What is switched off and how, for people. */
    public static List<String> described() {
        return List.of("PoCL (POCL_CACHE_DIR new and empty for each process)", "Intel (NEO_CACHE_PERSISTENT=0)", "NVIDIA (CUDA_CACHE_DISABLE=1)");
    }
}
