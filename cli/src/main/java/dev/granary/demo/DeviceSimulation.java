package dev.granary.demo;

import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;

/**
 * The mode of Intel's driver without a GPU, selected by environment variables: it builds and
 * restores binaries for a device that is not there, whose kernels compute nothing.
 */
final class DeviceSimulation {
    private static final String DEBUG_KEYS = "NEOReadDebugKeys";
    private static final String RECEIVER = "SetCommandStreamReceiver";
    private static final String RECORDING_ONLY = "1"; // commands go to a file

    /** The variables for a simulated Tiger Lake. */
    static final Map<String, String> VARIABLES =
            Map.of(DEBUG_KEYS, "1", RECEIVER, RECORDING_ONLY, "ProductFamilyOverride", "tgllp");

    private DeviceSimulation() {}

    /**
     * Returns the variables of the simulation as a text for ids, which they make not cacheable
     * otherwise; empty if the environment selects none.
     */
    static Optional<String> digest(Map<String, String> environment) {
        if (!environment.getOrDefault(DEBUG_KEYS, "0").equals("1")
                || !environment.getOrDefault(RECEIVER, "0").equals(RECORDING_ONLY)) {
            return Optional.empty();
        }
        Map<String, String> chosen = new TreeMap<>(environment);
        chosen.keySet().retainAll(VARIABLES.keySet());
        return Optional.of("simulated " + chosen);
    }
}
