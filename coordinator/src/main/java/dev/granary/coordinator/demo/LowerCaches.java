package dev.granary.coordinator.demo;

import java.util.LinkedHashMap;
import java.util.Map;

/** The drivers' own caches: switched off in the demo's processes, or they would be measured instead of Granary. */
public final class LowerCaches {
    private static final Map<String, String> OFF = off();

    private LowerCaches() {}

    /** The environment variables that switch them off. */
    public static Map<String, String> variables() {
        return OFF;
    }

    private static Map<String, String> off() {
        Map<String, String> off = new LinkedHashMap<>();
        off.put("POCL_KERNEL_CACHE", "0");
        off.put("NEO_CACHE_PERSISTENT", "0");
        off.put("CUDA_CACHE_DISABLE", "1");
        return off;
    }
}
