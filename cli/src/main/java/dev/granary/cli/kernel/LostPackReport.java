package dev.granary.cli.kernel;

import dev.granary.coordinator.statistics.LayerStatistics;

import java.io.PrintWriter;
import java.util.List;

/** Warnings of packs that are missing from a bucket, as far as publishing found any. */
final class LostPackReport {
    private LostPackReport() {}

    /** Prints one line for each bucket whose manifest may still name lost packs. */
    static void printWarnings(PrintWriter err, List<LayerStatistics> layers) {
        layers.forEach(layer -> layer.lostPacks()
                .cause()
                .ifPresent(cause -> err.println("granary: the manifest of " + layer.name()
                        + " may still name lost packs, which warm reports: " + cause
                        + "; populate or compact again")));
        err.flush();
    }
}
