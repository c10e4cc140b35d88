package dev.granary.cli.manifest;

import dev.granary.gpu.Geometry;
import dev.granary.gpu.Launch;

import org.jspecify.annotations.Nullable;
import org.tomlj.TomlPosition;

import java.util.ArrayList;
import java.util.List;
import java.util.Set;

/** Reader of the launches that a table announces, under {@code geometry} and {@code launch}. */
final class LaunchReader {
    private static final Set<String> GEOMETRY_KEYS = Set.of("global", "local");
    private static final Set<String> LAUNCH_KEYS = Set.of("kernel", "global", "local");

    private LaunchReader() {}

    /** Returns the launches of a table, or those of the defaults if it has none. */
    static List<Launch> launches(ManifestTable table, KernelDefaults defaults)
            throws KernelManifestException {
        if (table.value("geometry") == null && table.value("launch") == null) {
            return defaults.geometry();
        }
        List<Launch> launches = new ArrayList<>(everyKernel(table));
        for (ManifestTable launch :
                table.tables("launch", "[{ kernel = \"...\", global = [1024], local = [64] }]")) {
            launch.checkKeys(LAUNCH_KEYS, "a launch");
            String kernel = launch.text("kernel");
            if (kernel == null || kernel.isBlank()) {
                throw table.error(
                        "launch",
                        "a launch has no kernel; add: kernel = \"...\", or use geometry for"
                                + " all kernels");
            }
            launches.add(new Launch(kernel, geometry(launch, "launch", launch.position("kernel"))));
        }
        return launches;
    }

    /** Returns the launch of every kernel in {@code geometry}; empty if there is none. */
    static List<Launch> everyKernel(ManifestTable table) throws KernelManifestException {
        ManifestTable sizes =
                table.table("geometry", "{ global = [1024], local = [64] }").orElse(null);
        if (sizes == null) {
            return List.of();
        }
        sizes.checkKeys(GEOMETRY_KEYS, "a geometry");
        return List.of(new Launch(
                Launch.EVERY_KERNEL, geometry(sizes, "geometry", table.position("geometry"))));
    }

    private static Geometry geometry(
            ManifestTable sizes, String key, @Nullable TomlPosition position)
            throws KernelManifestException {
        try {
            return new Geometry(sizes.numbers("global"), sizes.numbers("local"));
        } catch (IllegalArgumentException e) {
            throw sizes.error(position, key + ": " + e.getMessage());
        }
    }
}
