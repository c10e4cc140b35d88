package dev.granary.demo;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;

/**
 * Environment variables of drivers: those that disable the drivers' own caches, which would be
 * measured instead of Granary, and those by which Intel's driver simulates a device.
 */
public final class DriverVariables {
    /** One line for each cache that {@link #withoutCaches} disables. */
    static final List<String> DISABLED_CACHES = List.of(
            "PoCL (POCL_CACHE_DIR new and empty for each process)",
            "Intel (NEO_CACHE_PERSISTENT=0)",
            "NVIDIA (CUDA_CACHE_DISABLE=1)");

    private static final Map<String, String> SIMULATED_TIGER_LAKE = Map.of(
            "NEOReadDebugKeys",
            "1",
            "SetCommandStreamReceiver",
            "1", // commands go to a file
            "ProductFamilyOverride",
            "tgllp");

    private DriverVariables() {}

    /**
     * Returns the variables of a process without driver caches.
     *
     * @param fresh a directory that no process has used
     */
    public static Map<String, String> withoutCaches(Path fresh) {
        return Map.of(
                "NEO_CACHE_PERSISTENT", "0",
                "CUDA_CACHE_DISABLE", "1",
                "POCL_CACHE_DIR", fresh.toString());
    }

    /**
     * Returns the variables of a process for which Intel's driver simulates a Tiger Lake without
     * OpenCL: another OpenCL driver in the process may clash with Intel's.
     *
     * @param directory the working directory of the process, in which the driver writes files
     * @throws IOException if the directory cannot be written
     */
    public static Map<String, String> simulation(Path directory) throws IOException {
        Map<String, String> variables = new HashMap<>(SIMULATED_TIGER_LAKE);
        Path none = Files.createDirectories(directory.resolve("no-opencl"));
        variables.put("OCL_ICD_VENDORS", none.toString());
        return variables;
    }

    /**
     * Returns the variables of the simulation as an extra digest for descriptors, which are not
     * cacheable without it. Empty if this process has no simulated device.
     */
    public static Optional<String> simulationDigest() {
        Map<String, String> chosen = new TreeMap<>(System.getenv());
        chosen.keySet().retainAll(SIMULATED_TIGER_LAKE.keySet());
        return chosen.size() == SIMULATED_TIGER_LAKE.size()
                ? Optional.of("simulated " + chosen)
                : Optional.empty();
    }
}
