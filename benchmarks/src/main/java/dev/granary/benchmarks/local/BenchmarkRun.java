package dev.granary.benchmarks.local;

import dev.granary.benchmarks.harness.Report;
import dev.granary.benchmarks.local.workload.LocalMeasure;
import dev.granary.benchmarks.local.workload.LocalSettings;
import dev.granary.benchmarks.local.workload.LocalWorkload;
import dev.granary.benchmarks.local.workload.LocalWorkspace;

import java.nio.file.Path;
import java.util.Locale;
import java.util.Set;

/**
 * The measures of one run, one after the other.
 *
 * @param settings the settings
 * @param workplace the workspace
 * @param report receives the sections
 */
record BenchmarkRun(LocalSettings settings, LocalWorkspace workplace, Report report) {
    private static final long SPARE_CAPACITY = 64 << 20;

    /** Runs the selected measures; each section is reported when it is complete. */
    void run() throws Exception {
        Set<LocalMeasure> measures = settings.measures();
        LocalWorkload material = LocalWorkload.workload(settings.seed(), settings.entries());
        report.heading(
                String.format(
                        Locale.ROOT,
                        "Local tier: seed %d, %,d entries of %,d MB (log-normal, median 32 KiB),"
                                + " page cache warm",
                        settings.seed(),
                        material.count(),
                        material.bytes() / 1_000_000),
                "The candidates take turns in rounds; / raw: median of the ratios within a round."
                        + " Nothing syncs.",
                "Every candidate but raw verifies key and CRC-32C of each entry that it gets.");
        if (measures.contains(LocalMeasure.GET)
                || measures.contains(LocalMeasure.PUT)
                || measures.contains(LocalMeasure.OPEN)) {
            runOnFilledStores(material);
        }
        if (measures.contains(LocalMeasure.EVICT)) {
            EvictMeasure evict = new EvictMeasure(settings, workplace);
            evict.run();
            report.add(evict.section());
        }
        if (measures.contains(LocalMeasure.OPEN)) {
            OpenMeasure open = new OpenMeasure(settings, workplace);
            open.run();
            report.add(open.section());
        }
        if (measures.contains(LocalMeasure.DRIVER)) {
            DriverMeasure driver = new DriverMeasure(settings, workplace);
            driver.run();
            report.add(driver.section());
        }
    }

    /** Runs the measures on stores that contain the whole workload. */
    private void runOnFilledStores(LocalWorkload material) throws Exception {
        Path parent = workplace.directory("filled");
        long capacity = 2 * material.bytes() + SPARE_CAPACITY;
        GetMeasure get = new GetMeasure(settings, workplace);
        TwoProcessReadMeasure two = new TwoProcessReadMeasure(settings, workplace);
        PutMeasure put = new PutMeasure(settings, workplace);
        boolean gets = settings.measures().contains(LocalMeasure.GET);
        try (OpenCandidates stores = OpenCandidates.open(settings.owners(), parent, capacity)) {
            put.fill(stores, material);
            if (gets) {
                get.run(stores, material);
            }
        }
        if (gets) {
            two.run(parent, capacity);
            report.add(GetSection.of(settings, get, two));
        }
        if (settings.measures().contains(LocalMeasure.PUT)) {
            report.add(put.section());
        }
        if (settings.measures().contains(LocalMeasure.OPEN)) {
            FirstOpenMeasure first = new FirstOpenMeasure(settings, workplace);
            first.run(parent, capacity);
            report.add(first.section());
        }
    }
}
