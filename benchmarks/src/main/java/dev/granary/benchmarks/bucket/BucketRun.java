package dev.granary.benchmarks.bucket;

import dev.granary.benchmarks.bucket.fleet.FleetMeasure;
import dev.granary.benchmarks.bucket.server.BucketWorkspace;
import dev.granary.benchmarks.bucket.server.ServerRoute;
import dev.granary.benchmarks.bucket.server.ServerRoutes;
import dev.granary.benchmarks.bucket.transport.TransportsMeasure;
import dev.granary.benchmarks.bucket.warm.WarmMeasure;
import dev.granary.benchmarks.bucket.workload.BucketFiller;
import dev.granary.benchmarks.bucket.workload.BucketMeasure;
import dev.granary.benchmarks.bucket.workload.BucketSettings;
import dev.granary.benchmarks.bucket.workload.BucketWorkload;
import dev.granary.benchmarks.harness.Report;

import java.util.Locale;
import java.util.Set;

/**
 * The measures of one run, one after the other, on one server.
 *
 * @param settings the settings
 * @param workplace the workspace
 * @param routes the routes to the server
 * @param report receives the sections
 */
record BucketRun(
        BucketSettings settings, BucketWorkspace workplace, ServerRoutes routes, Report report) {
    /** Runs the selected measures; each section is reported when it is complete. */
    void run() throws Exception {
        Set<BucketMeasure> measures = settings.measures();
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
        if (measures.contains(BucketMeasure.WARM)) {
            warm();
        }
        if (measures.contains(BucketMeasure.LOOSE)) {
            report.add(new UnpackedEntryMeasure(settings, workplace).run(routes.firstTwo()));
        }
        if (measures.contains(BucketMeasure.TRANSPORTS)) {
            TransportsMeasure transports = new TransportsMeasure(settings, workplace);
            transports.fill(routes.direct());
            report.add(transports.first(routes.direct()));
            for (ServerRoute route : routes.firstTwo()) {
                report.add(transports.throughput(route));
            }
        }
        if (measures.contains(BucketMeasure.FLEET)) {
            new FleetMeasure(settings, workplace).run(routes.delayed()).forEach(report::add);
        }
    }

    private void warm() throws Exception {
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
