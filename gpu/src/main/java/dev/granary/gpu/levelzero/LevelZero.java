package dev.granary.gpu.levelzero;

import dev.granary.cache.constant.EngineKind;
import dev.granary.gpu.levelzero.binding.DriverCalls;
import dev.granary.gpu.levelzero.binding.ZeLibrary;
import dev.granary.gpu.levelzero.binding.ZeStatus;

import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;

/** Access to the Level Zero drivers and devices of this machine. Thread-safe. */
public final class LevelZero {
    private static final String LOADER = "libze_loader.so.1";

    private LevelZero() {}

    /** The result of {@link #probe()}. */
    public sealed interface Probe {
        /**
         * The loader and a driver are installed.
         *
         * @param devices all devices of all drivers, in the loader's order; may be empty
         */
        record Found(List<LevelZeroDevice> devices) implements Probe {}

        /**
         * The loader or a driver is missing.
         *
         * @param cause a line that names the missing part and how to install it
         */
        record Missing(String cause) implements Probe {}
    }

    /**
     * Returns the devices, or the reason why there is no Level Zero. Does not throw if the loader
     * or a driver is missing.
     */
    public static Probe probe() {
        return probe(LOADER);
    }

    /** Probes with a loader of that name. */
    static Probe probe(String loader) {
        ZeLibrary library;
        try {
            library = ZeLibrary.load(loader);
        } catch (IllegalArgumentException e) {
            return new Probe.Missing(
                    "the Level Zero loader " + loader + " was not found; install it"
                            + " and a driver, on Debian: apt-get install libze1 intel-opencl-icd"
                            + " (libze-intel-gpu1 from Debian 13 on)");
        }
        DriverCalls drivers = new DriverCalls(library);
        int status = drivers.init();
        if (status != 0) {
            return new Probe.Missing("zeInit failed with " + ZeStatus.describe(status)
                    + (status == ZeStatus.UNINITIALIZED
                            ? ": no Level Zero driver, or no device for it; install a driver, on"
                                    + " Debian: apt-get install intel-opencl-icd"
                                    + " (libze-intel-gpu1 from Debian 13 on)"
                            : ""));
        }
        List<LevelZeroDevice> devices = new ArrayList<>();
        Map<EngineKind, Integer> counts = new EnumMap<>(EngineKind.class);
        for (long driver : drivers.drivers()) {
            for (long handle : drivers.devices(driver)) {
                LevelZeroDevice device = LevelZeroDevice.of(library, drivers, driver, handle);
                devices.add(device.withIndex(counts.merge(device.kind(), 1, Integer::sum) - 1));
            }
        }
        return new Probe.Found(List.copyOf(devices));
    }

    /** Returns all devices; none if there is no Level Zero. */
    public static List<LevelZeroDevice> devices() {
        return switch (probe()) {
            case Probe.Found found -> found.devices();
            case Probe.Missing _ -> List.of();
        };
    }
}
