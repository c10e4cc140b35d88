package dev.granary.benchmarks.bucket;

import dev.granary.benchmarks.bucket.server.BucketWorkspace;
import dev.granary.benchmarks.bucket.server.ServerRoute;
import dev.granary.benchmarks.bucket.server.ServerRoutes;
import dev.granary.benchmarks.bucket.warm.WarmMeasure;
import dev.granary.benchmarks.bucket.workload.BucketFiller;
import dev.granary.benchmarks.bucket.workload.BucketSettings;
import dev.granary.benchmarks.bucket.workload.BucketWorkload;
import dev.granary.benchmarks.harness.Report;

import java.util.Locale;

/**
 * The measure of one run on all routes to one server.
 *
 * @param settings the settings
 * @param workplace the workspace
 * @param routes the routes to the server
 * @param report receives the sections
 */
record BucketRun(
        BucketSettings settings, BucketWorkspace workplace, ServerRoutes routes, Report report) {
    /** Runs the measure on each route; each section is reported when it is complete. */
    void run() throws Exception {
        report.heading(
                String.format(
                        Locale.ROOT,
                        "Bucket tier: seed %d, server %s on the loopback interface",
                        settings.seed(),
                        routes.server()),
                "Directly, and through a proxy that holds back each request: "
                        + String.join(
                                ", ",
                                routes.all().stream()
                                        .skip(1)
                                        .map(ServerRoute::label)
                                        .toList())
                        + ".");
        BucketWorkload material =
                BucketWorkload.workload(settings.content(), settings.seed(), settings.entries());
        long packBytes = new BucketFiller(routes.direct(), workplace).all(material);
        report.heading(String.format(
                Locale.ROOT,
                "Workload: %,d entries of %,d MB, log-normal, median 32 KiB, content %s; packs of"
                        + " %,d MB",
                material.count(),
                material.bytes() / 1_000_000,
                settings.content().name().toLowerCase(Locale.ROOT),
                packBytes / 1_000_000));
        for (ServerRoute route : routes.all()) {
            report.add(new WarmMeasure(settings, workplace, route, material, packBytes).run());
        }
    }
}
