package dev.granary.benchmarks.restore;

import dev.granary.benchmarks.harness.Goal;
import dev.granary.benchmarks.harness.ReportSection;
import dev.granary.benchmarks.harness.ReportSection.Column;
import dev.granary.benchmarks.restore.RestoreTimes.Phase;
import dev.granary.cache.Target;
import dev.granary.gpu.device.DriverTraits;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/**
 * The tables of a run: the programs in a warm JVM, and the sums of all in each state of the JVM.
 *
 * @param firstTimes the times of each program in the first rounds of several processes, by its name
 * @param times the times of each program in all rounds of one process, by its name
 */
record RestoreTables(Map<String, RestoreTimes> firstTimes, Map<String, RestoreTimes> times) {
    /**
     * The limits of a lookup of one program, compared with the same restore without Granary. A
     * program is slower if it exceeds both: the ratio, and the excess in milliseconds.
     */
    private static final double MAX_RATIO = 1.1;

    private static final double MAX_EXCESS_MILLIS = 1;

    /** The limit for the local tier and all programs of PoCL (decision 30). */
    private static final double MAX_LOCAL_RATIO = 1.05;

    /** The same limit for a JVM that interprets most of the code. */
    private static final double MAX_FIRST_RATIO = 1.10;

    /** The limit for a local tier that requires signatures (decision 71). */
    private static final double MAX_SIGNED_RATIO = 1.05;

    private static final Column[] COLUMNS = {
        new Column("compile", "compile", 1),
        new Column("spirv", "SPIR-V", 1),
        new Column("driver", "driver", 2),
        new Column("local", "local", 2),
        new Column("signed", "signed", 2),
        new Column("getDriver", "GET+driver", 2),
        new Column("bucket", "bucket", 2),
        new Column("localToDriver", "local/driver", 2),
        new Column("bucketToGetDriver", "bucket/GET", 2)
    };

    /** Returns the table of the programs in a warm JVM, with the goals. */
    ReportSection programs(Target target) {
        ReportSection section = new ReportSection(
                "programs",
                "Medians of " + Phase.WARM.label() + " (compile, SPIR-V: of "
                        + RestoreBenchmark.BUILD_ROUNDS + ")",
                COLUMNS);
        times.forEach(
                (name, each) -> section.row(name, figures(way -> each.median(way, Phase.WARM))));
        goals(target).forEach(section::goal);
        section.note("signed: local, with signatures required; GET+driver: the bare S3 client reads"
                + " the entry's object, then the driver restores; bucket/GET: in relation to it;"
                + " slower: beyond both " + MAX_RATIO + " times and " + (int) MAX_EXCESS_MILLIS
                + " ms more, local than driver, bucket than GET+driver");
        return section;
    }

    /** Returns the goals for the driver of that target. */
    List<Goal> goals(Target target) {
        List<Goal> goals = new ArrayList<>();
        if (target.vendor().equals(DriverTraits.POCL)) {
            goals.add(new Goal(
                    "local / driver, all programs",
                    Goal.Bound.AT_MOST,
                    MAX_LOCAL_RATIO,
                    sum(RestoreWay.LOCAL, Phase.WARM) / sum(RestoreWay.DRIVER, Phase.WARM)));
            goals.add(new Goal(
                    "local / driver, first round",
                    Goal.Bound.AT_MOST,
                    MAX_FIRST_RATIO,
                    sum(RestoreWay.LOCAL, Phase.FIRST) / sum(RestoreWay.DRIVER, Phase.FIRST)));
            goals.add(new Goal(
                    "signed / local, all programs",
                    Goal.Bound.AT_MOST,
                    MAX_SIGNED_RATIO,
                    sum(RestoreWay.SIGNED, Phase.WARM) / sum(RestoreWay.LOCAL, Phase.WARM)));
        }
        goals.add(slower(target, RestoreWay.LOCAL, RestoreWay.DRIVER));
        goals.add(slower(target, RestoreWay.BUCKET, RestoreWay.GET_DRIVER));
        return goals;
    }

    /** Returns the table of the sums of all programs. */
    ReportSection totals() {
        ReportSection section =
                new ReportSection("totals", "All " + times.size() + " programs", COLUMNS);
        for (Phase phase : List.of(Phase.FIRST, Phase.EARLY, Phase.WARM)) {
            section.row(phase.label(), figures(way -> sum(way, phase)));
        }
        section.note("first round: medians of new processes");
        return section;
    }

    /** Returns the goal that no program exceeds both limits in relation to {@code bare}. */
    private Goal slower(Target target, RestoreWay way, RestoreWay bare) {
        return new Goal(
                target.backend().path() + ", slower programs, "
                        + way.name().toLowerCase(Locale.ROOT),
                Goal.Bound.AT_MOST,
                0,
                times.values().stream()
                        .filter(each -> isSlower(
                                each.median(way, Phase.WARM), each.median(bare, Phase.WARM)))
                        .count());
    }

    private static boolean isSlower(double lookup, double bare) {
        return lookup > bare * MAX_RATIO && lookup > bare + MAX_EXCESS_MILLIS;
    }

    private double sum(RestoreWay way, Phase phase) {
        return (phase == Phase.FIRST ? firstTimes : times)
                .values().stream().mapToDouble(each -> each.median(way, phase)).sum();
    }

    private interface Millis {
        double of(RestoreWay way);
    }

    private static double[] figures(Millis millis) {
        double driver = millis.of(RestoreWay.DRIVER);
        double local = millis.of(RestoreWay.LOCAL);
        double getDriver = millis.of(RestoreWay.GET_DRIVER);
        double bucket = millis.of(RestoreWay.BUCKET);
        return new double[] {
            millis.of(RestoreWay.COMPILE),
            millis.of(RestoreWay.SPIRV),
            driver,
            local,
            millis.of(RestoreWay.SIGNED),
            getDriver,
            bucket,
            local / driver,
            bucket / getDriver
        };
    }
}
