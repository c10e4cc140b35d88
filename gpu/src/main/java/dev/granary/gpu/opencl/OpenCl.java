package dev.granary.gpu.opencl;

import dev.granary.cache.constant.EngineKind;
import dev.granary.gpu.Geometry;
import java.util.ArrayList;
import java.util.Collection;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import org.lwjgl.opencl.CL;
import org.lwjgl.system.Configuration;

/** The OpenCL platforms and devices of this machine. Thread-safe. */
public final class OpenCl {
    private static final String LIBRARY = "libOpenCL.so.1";

    private static boolean isLoaded; // guarded by the class

    private OpenCl() {}

    /** What {@link #probe()} found. */
    public sealed interface Probe {
        /**
         * The loader answered.
         *
         * @param devices all devices of all platforms, in the loader's order; may be none
         */
        record Found(List<OpenClDevice> devices) implements Probe {}

        /**
         * There is no OpenCL here.
         *
         * @param cause what is missing and how to install it, one line
         */
        record Missing(String cause) implements Probe {}
    }

    /** Looks for OpenCL and its devices. Does not throw for what is missing. */
    public static Probe probe() {
        try {
            load();
        } catch (UnsatisfiedLinkError e) {
            return new Probe.Missing("the OpenCL loader " + LIBRARY + " was not found; install it and a driver, on Debian:"
                    + " apt-get install ocl-icd-libopencl1 pocl-opencl-icd");
        }
        List<OpenClDevice> devices = new ArrayList<>();
        Map<EngineKind, Integer> numbers = new EnumMap<>(EngineKind.class);
        ClBinding binding = new ClBinding();
        for (long platform : binding.platforms()) {
            for (long device : binding.devices(platform)) {
                OpenClDevice found = OpenClDevice.probe(binding, platform, device);
                devices.add(found.numbered(numbers.merge(found.kind(), 1, Integer::sum) - 1));
            }
        }
        return new Probe.Found(List.copyOf(devices));
    }

    /** All devices; none where there is no OpenCL. */
    public static List<OpenClDevice> devices() {
        return switch (probe()) {
            case Probe.Found found -> found.devices();
            case Probe.Missing _ -> List.of();
        };
    }

    /**
     * Tells which launches this process is about to announce, before it takes the first binaries. A program that takes binaries without
     * launching, for several geometries, calls this first: PoCL 3.1 settles once per process which group sizes such binaries cover.
     * Each binary then covers all of them, which costs compile time and bytes.
     */
    public static void expectLaunches(Collection<Geometry> geometries) {
        PoclSpecialization.expect(geometries);
    }

    /** Loads the native libraries, once per process; a failure is tried again by the next call. */
    private static synchronized void load() {
        if (isLoaded) {
            return;
        }
        if (Configuration.OPENCL_LIBRARY_NAME.get() == null) {
            Configuration.OPENCL_LIBRARY_NAME.set(LIBRARY);
        }
        try {
            CL.create();
        } catch (IllegalStateException e) {
            // The application uses OpenCL through LWJGL itself, and has loaded it.
        }
        isLoaded = true;
    }

    static {
        Configuration.OPENCL_EXPLICIT_INIT.set(true);
    }
}
