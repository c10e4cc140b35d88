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
 * @param ways the routes to the server
 * @param report receives the sections
 */
record BucketRun(
        BucketSettings settings, BucketWorkspace workplace, ServerRoutes ways, Report report) {
    /** Runs the selected measures; each section is reported when it is complete. */
    void run() throws Exception {
        Set<BucketMeasure> measures = settings.measures();
        report.heading(
                String.format(
                        Locale.ROOT,
                        "Bucket tier: seed %d, server %s on the loopback interface",
                        settings.seed(),
                        ways.server()),
                "Directly, and through a proxy that holds back each request: "
                        + String.join(
                                ", ",
                                ways.all().stream()
                                        .skip(1)
                                        .map(ServerRoute::label)
                                        .toList())
                        + ".");
        if (measures.contains(BucketMeasure.WARM)) {
            warm();
        }
        if (measures.contains(BucketMeasure.LOOSE)) {
            report.add(new UnpackedEntryMeasure(settings, workplace).run(ways.firstTwo()));
        }
        if (measures.contains(BucketMeasure.TRANSPORTS)) {
            TransportsMeasure transports = new TransportsMeasure(settings, workplace);
            transports.fill(ways.direct());
            report.add(transports.first(ways.direct()));
            for (ServerRoute way : ways.firstTwo()) {
                report.add(transports.throughput(way));
            }
        }
        if (measures.contains(BucketMeasure.FLEET)) {
            new FleetMeasure(settings, workplace).run(ways.delayed()).forEach(report::add);
        }
    }

    private void warm() throws Exception {
        BucketWorkload material =
                BucketWorkload.workload(settings.content(), settings.seed(), settings.entries());
        long packBytes = new BucketFiller(ways.direct(), workplace).all(material);
        report.heading(String.format(
                Locale.ROOT,
                "Workload: %,d entries of %,d MB, log-normal, median 32 KiB, content %s; packs of"
                        + " %,d MB",
                material.count(),
                material.bytes() / 1_000_000,
                settings.content().name().toLowerCase(Locale.ROOT),
                packBytes / 1_000_000));
        for (ServerRoute way : ways.all()) {
            report.add(new WarmMeasure(settings, workplace, way, material, packBytes).run());
        }
    }
}
