package dev.granary.benchmarks.bucket.fleet;

import dev.granary.benchmarks.bucket.server.BucketWorkspace;
import dev.granary.benchmarks.bucket.server.ServerRoute;
import dev.granary.benchmarks.bucket.workload.BucketSettings;
import dev.granary.benchmarks.bucket.workload.BucketWorkload;
import dev.granary.benchmarks.harness.ReportSection;

import java.io.IOException;
import java.util.List;
import java.util.Locale;

/**
 * The start of all nodes of a fleet at once: the number of requests, calculated, and the duration,
 * simulated.
 */
public final class FleetMeasure {
    private static final double SPREAD_SECONDS = 10;
    private static final double MINUTE_SECONDS = 60;

    private final BucketSettings settings;
    private final BucketWorkspace workplace;

    public FleetMeasure(BucketSettings settings, BucketWorkspace workplace) {
        this.settings = settings;
        this.workplace = workplace;
    }

    /** Returns the calculated requests, and the simulation with the request times of a route. */
    public List<ReportSection> run(ServerRoute route) throws IOException, InterruptedException {
        workplace.say("fleet: measuring requests of one node, " + route.label());
        long bytes = BucketWorkload.workload(
                        settings.content(), settings.seed(), settings.kernels())
                .bytes();
        FleetPlan.Sizes sizes = new FleetPlan.Sizes(settings.kernels(), bytes);
        RequestTimes measured = RequestTimes.measure(route, sizes, settings.seed());
        FleetPlan loose = FleetPlan.loose(sizes, measured);
        FleetPlan packed = FleetPlan.packed(sizes, measured);
        return List.of(calculated(loose, packed), simulated(loose, packed, measured, route));
    }

    private ReportSection calculated(FleetPlan loose, FleetPlan packed) {
        ReportSection section = new ReportSection(
                "fleet-paper",
                String.format(
                        Locale.ROOT,
                        "fleet, on paper: %,d kernels x %,d nodes",
                        settings.kernels(),
                        settings.nodes()),
                new ReportSection.Column("requestsPerNode", "per node", 0),
                new ReportSection.Column("requests", "requests", 0),
                new ReportSection.Column("leastSeconds", "least s", 1),
                new ReportSection.Column("perSecondForAMinute", "/s for 1 min", 0),
                new ReportSection.Column("megabytesPerNode", "MB per node", 0));
        for (FleetPlan plan : List.of(loose, packed)) {
            double all = (double) plan.requests() * settings.nodes();
            section.row(
                    plan.label(),
                    (double) plan.requests(),
                    all,
                    all / TokenBucket.PER_SECOND,
                    all / MINUTE_SECONDS,
                    plan.bytes() / 1e6);
        }
        section.note("least: at " + String.format(Locale.ROOT, "%,d", TokenBucket.PER_SECOND)
                + " GET/s, which S3 grants below one prefix; /s for 1 min: the rate that has "
                + "the fleet warm within a minute. MB without compression");
        return section;
    }

    private ReportSection simulated(
            FleetPlan loose, FleetPlan packed, RequestTimes measured, ServerRoute route) {
        ReportSection section = new ReportSection(
                "fleet",
                "fleet, simulated: requests as long as measured here, " + route.label(),
                new ReportSection.Column("seconds", "all warm s", 1),
                new ReportSection.Column("medianSeconds", "half s", 1),
                new ReportSection.Column("requests", "requests", 0),
                new ReportSection.Column("peakPerSecond", "peak /s", 0),
                new ReportSection.Column("refusedPercent", "503 %", 1),
                new ReportSection.Column("lostPercent", "lost %", 1));
        for (FleetPlan plan : List.of(loose, packed)) {
            addSimulated(section, plan, "at once", 0, RetryBehaviour.UNTIL_GRANTED, measured);
            addSimulated(
                    section, plan, "10 s", SPREAD_SECONDS, RetryBehaviour.UNTIL_GRANTED, measured);
            addSimulated(section, plan, "3 tries", 0, RetryBehaviour.THREE_ATTEMPTS, measured);
        }
        section.note(String.format(
                Locale.ROOT,
                "at once: all nodes start at the same moment, and ask until they are granted; 10"
                        + " s: they start within 10 s; 3 tries: at once, with the three attempts of"
                        + " the tier, without its circuit breaker. The limit grants a second's"
                        + " requests at once. lost: of the requests that were needed. Measured with"
                        + " as many at once as a node sends, median ms: small %.1f, entry %.1f,"
                        + " part of %.1f MB %.1f",
                1e3 * measured.small().median(),
                1e3 * measured.loose().median(),
                partMegabytes(packed),
                1e3 * measured.part().median()));
        return section;
    }

    private double partMegabytes(FleetPlan packed) {
        return new FleetPlan.Sizes(settings.kernels(), packed.bytes()).part() / 1e6;
    }

    private void addSimulated(
            ReportSection section,
            FleetPlan plan,
            String start,
            double startSeconds,
            RetryBehaviour retries,
            RequestTimes measured) {
        workplace.say("fleet, simulated: " + plan.label() + ", " + start + ", " + retries.label());
        FleetSimulation.Result result = new FleetSimulation(
                        plan, settings.nodes(), retries, measured.small(), settings.seed())
                .run(startSeconds);
        section.row(
                plan.label() + ", " + start,
                result.seconds(),
                result.medianSeconds(),
                (double) result.requests(),
                (double) result.peakPerSecond(),
                result.refusedPercent(),
                result.lostPercent());
    }
}
