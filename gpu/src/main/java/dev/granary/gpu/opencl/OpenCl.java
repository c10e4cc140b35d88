package dev.granary.gpu.opencl;

import dev.granary.cache.constant.config.EngineKind;
import dev.granary.gpu.Geometry;
import dev.granary.gpu.opencl.binding.ClBinding;
import dev.granary.gpu.opencl.driver.PoclSpecialization;

import org.lwjgl.opencl.CL;
import org.lwjgl.system.Configuration;
import org.lwjgl.system.Platform;

import java.util.ArrayList;
import java.util.Collection;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;

/** Access to the OpenCL platforms and devices of this machine. Thread-safe. */
public final class OpenCl {
    /** The name on Linux without development packages. LWJGL has those of other systems. */
    private static final String LIBRARY = "libOpenCL.so.1";

    private static boolean isLoaded; // guarded by the class

    private OpenCl() {}

    /** The result of {@link #probe()}. */
    public sealed interface Probe {
        /**
         * OpenCL is installed.
         *
         * @param devices all devices of all platforms, in the loader's order; may be empty
         */
        record Found(List<OpenClDevice> devices) implements Probe {}

        /**
         * OpenCL is not installed.
         *
         * @param cause a line that names the missing part and how to install it
         */
        record Missing(String cause) implements Probe {}
    }

    /**
     * Returns the OpenCL devices, or the reason why there is no OpenCL. Does not throw if OpenCL is
     * missing.
     */
    public static Probe probe() {
        try {
            load();
        } catch (UnsatisfiedLinkError e) {
            return new Probe.Missing(
                    Platform.get() == Platform.LINUX
                            ? "the OpenCL loader " + LIBRARY
                                    + " was not found; install it and a driver, on Debian:"
                                    + " apt-get install ocl-icd-libopencl1 pocl-opencl-icd"
                            : "OpenCL was not found: " + e.getMessage());
        }
        List<OpenClDevice> devices = new ArrayList<>();
        Map<EngineKind, Integer> counts = new EnumMap<>(EngineKind.class);
        ClBinding binding = binding();
        for (long platform : binding.devices().platforms()) {
            for (long handle : binding.devices().devices(platform)) {
                OpenClDevice device = OpenClDevice.probe(binding, platform, handle);
                devices.add(device.withIndex(counts.merge(device.kind(), 1, Integer::sum) - 1));
            }
        }
        return new Probe.Found(List.copyOf(devices));
    }

    /** Returns the native calls, which throw an {@link OpenClException} if they fail. */
    static ClBinding binding() {
        return ClBinding.failingWith(OpenClException::new);
    }

    /** Returns all devices; none if there is no OpenCL. */
    public static List<OpenClDevice> devices() {
        return switch (probe()) {
            case Probe.Found found -> found.devices();
            case Probe.Missing _ -> List.of();
        };
    }

    /**
     * Sets the launches that this process will announce; to be called before the first binaries are
     * taken. A program that takes binaries for several geometries without launching needs this:
     * PoCL 3.1 fixes the covered work-group sizes once per process. Each binary then covers all of
     * them, which costs compile time and bytes.
     */
    public static void expectLaunches(Collection<Geometry> geometries) {
        PoclSpecialization.expect(geometries);
    }

    /**
     * Loads the native libraries, once per process; a failed load is tried again by the next call.
     */
    private static synchronized void load() {
        if (isLoaded) {
            return;
        }
        if (Platform.get() == Platform.LINUX && Configuration.OPENCL_LIBRARY_NAME.get() == null) {
            Configuration.OPENCL_LIBRARY_NAME.set(LIBRARY);
        }
        try {
            CL.create();
        } catch (IllegalStateException e) {
            // The application uses OpenCL through LWJGL and has loaded it.
        }
        isLoaded = true;
    }

    static {
        Configuration.OPENCL_EXPLICIT_INIT.set(true);
    }
}
