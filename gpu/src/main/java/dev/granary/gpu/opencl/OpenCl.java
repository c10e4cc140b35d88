package dev.granary.gpu.opencl;

import dev.granary.cache.constant.EngineKind;
import dev.granary.gpu.Geometry;
import dev.granary.gpu.opencl.binding.ClBinding;
import dev.granary.gpu.opencl.binding.ClLibrary;
import dev.granary.gpu.opencl.driver.PoclSpecialization;

import java.util.ArrayList;
import java.util.Collection;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * Access to the OpenCL platforms and devices of this machine. The program needs the artifact
 * {@code granary-opencl-lwjgl}, which brings the binding. Thread-safe.
 */
public final class OpenCl {
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
         * OpenCL is not installed, or the program has no binding of it.
         *
         * @param cause a line that names the missing part and how to add it
         */
        record Missing(String cause) implements Probe {}
    }

    /**
     * Returns the OpenCL devices, or the reason why there is no OpenCL. Does not throw if OpenCL or
     * its binding is missing, so programs of several backends call this method.
     */
    public static Probe probe() {
        Optional<String> missing = ClLibrary.load();
        if (missing.isPresent()) {
            return new Probe.Missing(missing.get());
        }
        List<OpenClDevice> devices = new ArrayList<>();
        Map<EngineKind, Integer> counts = new EnumMap<>(EngineKind.class);
        ClBinding binding = ClBinding.LIBRARY;
        for (long platform : binding.devices().platforms()) {
            for (long handle : binding.devices().devices(platform)) {
                OpenClDevice device = OpenClDevice.probe(binding, platform, handle);
                devices.add(device.withIndex(counts.merge(device.kind(), 1, Integer::sum) - 1));
            }
        }
        return new Probe.Found(List.copyOf(devices));
    }

    /**
     * Returns all devices; none if OpenCL or the native library of LWJGL is missing.
     *
     * @throws IllegalStateException if the program has no binding of OpenCL. That is a mistake of
     *     the program's build, and the message names the artifact to add.
     */
    public static List<OpenClDevice> devices() {
        ClLibrary.missingBinding().ifPresent(cause -> {
            throw new IllegalStateException(cause);
        });
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
}
