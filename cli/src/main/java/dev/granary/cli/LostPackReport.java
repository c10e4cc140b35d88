package dev.granary.cli;

import com.google.gson.JsonObject;

import dev.granary.cli.output.JsonOutput;
import dev.granary.coordinator.statistics.LayerStatistics;

import java.io.PrintWriter;
import java.util.List;

/** Output about packs that are missing from a bucket, as far as publishing found any. */
final class LostPackReport {
    private LostPackReport() {}

    static JsonObject json(List<LayerStatistics> layers) {
        JsonObject json = JsonOutput.object(
                "forgotten",
                layers.stream()
                        .mapToLong(layer -> layer.lostPacks().forgotten())
                        .sum(),
                "failures",
                layers.stream().mapToLong(layer -> layer.lostPacks().failures()).sum());
        layers.stream()
                .flatMap(layer -> layer.lostPacks().cause().stream())
                .findFirst()
                .ifPresent(cause -> json.addProperty("cause", cause));
        return json;
    }

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
