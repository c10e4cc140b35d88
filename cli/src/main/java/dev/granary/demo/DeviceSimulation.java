package dev.granary.demo;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;

/**
 * The mode of Intel's driver without a GPU, selected by environment variables: it builds and
 * restores binaries for a device that is not there, whose kernels compute nothing.
 */
public final class DeviceSimulation {
    private static final String DEBUG_KEYS = "NEOReadDebugKeys";
    private static final String RECEIVER = "SetCommandStreamReceiver";
    private static final String RECORDING_ONLY = "1"; // commands go to a file

    private static final Map<String, String> TIGER_LAKE =
            Map.of(DEBUG_KEYS, "1", RECEIVER, RECORDING_ONLY, "ProductFamilyOverride", "tgllp");

    private DeviceSimulation() {}

    /**
     * Returns the variables of a process for which the driver simulates a Tiger Lake, without
     * OpenCL beside it: another driver of OpenCL in one process may clash with Intel's.
     *
     * @param directory the working directory of the process, in which the driver writes files
     * @throws IOException if the directory cannot be written
     */
    public static Map<String, String> variables(Path directory) throws IOException {
        Map<String, String> variables = new HashMap<>(TIGER_LAKE);
        variables.put(
                "OCL_ICD_VENDORS",
                Files.createDirectory(directory.resolve("no-opencl")).toString());
        return variables;
    }

    /**
     * Returns the variables of the simulation as an extra digest for descriptors, which are not
     * cacheable without it. Empty if the environment selects no simulation.
     */
    public static Optional<String> digest(Map<String, String> environment) {
        if (!environment.getOrDefault(DEBUG_KEYS, "0").equals("1")
                || !environment.getOrDefault(RECEIVER, "0").equals(RECORDING_ONLY)) {
            return Optional.empty();
        }
        Map<String, String> chosen = new TreeMap<>(environment);
        chosen.keySet().retainAll(TIGER_LAKE.keySet());
        return Optional.of("simulated " + chosen);
    }
}
