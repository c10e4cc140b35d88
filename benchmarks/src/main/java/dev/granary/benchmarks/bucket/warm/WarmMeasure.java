package dev.granary.benchmarks.bucket.warm;

import dev.granary.benchmarks.bucket.server.BucketWorkspace;
import dev.granary.benchmarks.bucket.server.LineProcess;
import dev.granary.benchmarks.bucket.server.ServerRoute;
import dev.granary.benchmarks.bucket.workload.BucketSettings;
import dev.granary.benchmarks.bucket.workload.BucketWorkload;
import dev.granary.benchmarks.bucket.workload.Sample;
import dev.granary.benchmarks.harness.Goal;
import dev.granary.benchmarks.harness.ReportSection;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;

/** Measure of filling a node over one route: the command, a running JVM, and the tools, in turn. */
public final class WarmMeasure {
    private static final double RCLONE_GOAL = 1.9;
    private static final double TRUST_GOAL = 1.05;
    private static final double BYTES_PER_REQUEST = 8 << 20;
    private static final int SPARE_REQUESTS = 10;

    /** The number of fills for each policy: one fill varies by more than the policies differ. */
    private static final int TRUST_FILLS = 48;

    private final BucketSettings settings;
    private final BucketWorkspace workplace;
    private final ServerRoute route;
    private final BucketWorkload material;
    private final long packBytes;
    private final Map<DirectoryFiller, Sample> seconds = new LinkedHashMap<>();
    private final Map<DirectoryFiller, Sample> requests = new LinkedHashMap<>();
    private int outputs;

    public WarmMeasure(
            BucketSettings settings,
            BucketWorkspace workplace,
            ServerRoute route,
            BucketWorkload material,
            long packBytes) {
        this.settings = settings;
        this.workplace = workplace;
        this.route = route;
        this.material = material;
        this.packBytes = packBytes;
    }

    /** Measures, and returns the table. */
    public ReportSection run() throws IOException, InterruptedException {
        CopyTools tools = new CopyTools(workplace, route, material.namespace());
        List<DirectoryFiller> objects = tools.objectFillers();
        List<DirectoryFiller> loose = tools.looseFillers();
        WarmCommandFiller command = new WarmCommandFiller(workplace, route, material);
        try (LineProcess jvm = WarmJvmFiller.start(workplace, route, material)) {
            WarmJvmFiller running = new WarmJvmFiller(jvm, material, false);
            WarmJvmFiller trusting = new WarmJvmFiller(jvm, material, true);
            for (int i = 0; i < WarmJvmFiller.UNMEASURED; i++) {
                fill(running);
                fill(trusting);
            }
            List<DirectoryFiller> all = new ArrayList<>(List.of(command));
            all.addAll(objects);
            all.add(running);
            all.addAll(loose);
            for (int round = 0; round < settings.rounds(); round++) {
                // a filler delays the next one, whose pages wait for the disk behind its own
                for (DirectoryFiller filler : round % 2 == 0 ? all : all.reversed()) {
                    measure(filler);
                }
                Collections.rotate(all, 1); // each round begins with another filler
            }
            return section(command, running, trustRatio(running, trusting), objects, loose);
        }
    }

    /** Returns the ratio of the times with and without the checks of signatures, in turns. */
    private double trustRatio(DirectoryFiller running, DirectoryFiller trusting)
            throws IOException, InterruptedException {
        Sample with = new Sample();
        Sample without = new Sample();
        for (int i = 0; i < TRUST_FILLS; i++) {
            workplace.say("warm, " + route.label() + ": " + trusting.label() + " or not");
            if (i % 2 == 0) {
                with.add(fill(trusting));
            }
            without.add(fill(running));
            if (i % 2 == 1) {
                with.add(fill(trusting));
            }
        }
        return with.ratioTo(without);
    }

    private void measure(DirectoryFiller filler) throws IOException, InterruptedException {
        workplace.say("warm, " + route.label() + ": " + filler.label());
        Optional<Long> before = route.requests();
        seconds.computeIfAbsent(filler, _ -> new Sample()).add(fill(filler));
        Sample counted = requests.computeIfAbsent(filler, _ -> new Sample());
        if (before.isPresent()) {
            counted.add((double) (route.requests().orElseThrow() - before.get()));
        } else if (filler instanceof WarmCommandFiller command) {
            counted.add((double) command.requests());
        }
    }

    /** Fills a directory once; its check is not part of the time. */
    private double fill(DirectoryFiller filler) throws IOException, InterruptedException {
        Path directory = workplace.path("out");
        double took = filler.fill(directory);
        if (filler instanceof WarmCommandFiller || filler instanceof WarmJvmFiller) {
            DirectoryChecker.requireAll(material, directory);
        } else if (Files.notExists(directory)) {
            throw new IOException(filler.label() + " fetched nothing");
        }
        setAside(directory);
        return took;
    }

    /**
     * Frees the bytes of an output, and keeps its files until the end of the run. For some minutes,
     * ext4 gives no new file the inode of a deleted one, and steps over 10,000 of those at each
     * creation: a fill after a deletion took up to five times as long as on a fresh disk.
     */
    private void setAside(Path output) throws IOException {
        try (Stream<Path> files = Files.walk(output)) {
            for (Path file : files.filter(Files::isRegularFile).toList()) {
                Files.newByteChannel(
                                file,
                                StandardOpenOption.WRITE,
                                StandardOpenOption.TRUNCATE_EXISTING)
                        .close();
            }
        }
        Files.move(output, workplace.path("out-" + route.name() + "-" + outputs++));
    }

    private ReportSection section(
            WarmCommandFiller command,
            WarmJvmFiller running,
            double trustRatio,
            List<DirectoryFiller> objects,
            List<DirectoryFiller> loose) {
        ReportSection section = new ReportSection(
                "warm-" + route.name(),
                "warm, " + route.label() + "; medians of " + settings.rounds() + " rounds",
                new ReportSection.Column("seconds", "s", 2),
                new ReportSection.Column("rcloneRatio", "/ rclone", 2),
                new ReportSection.Column("megabytesPerSecond", "MB/s", 0),
                new ReportSection.Column("requests", "requests", 0));
        Optional<DirectoryFiller> rclone = objects.stream()
                .filter(tool -> tool.label().equals(CopyTools.PEER))
                .findFirst();
        List<DirectoryFiller> rows = new ArrayList<>(List.of(command, running));
        rows.addAll(objects);
        rows.addAll(loose);
        for (DirectoryFiller filler : rows) {
            double median = of(filler).median();
            section.row(
                    filler.label(),
                    median,
                    ratio(filler, rclone),
                    packBytes / 1e6 / median,
                    requests(filler));
        }
        section.goal(new Goal(
                "warm / rclone, " + route.label(),
                Goal.Bound.AT_MOST,
                RCLONE_GOAL,
                ratio(command, rclone)));
        section.goal(new Goal(
                "warm / rclone, running JVM, " + route.label(),
                Goal.Bound.AT_MOST,
                RCLONE_GOAL,
                ratio(running, rclone)));
        section.goal(new Goal(
                "signatures checked / not, " + route.label(),
                Goal.Bound.AT_MOST,
                TRUST_GOAL,
                trustRatio));
        double mostRequests = packBytes / BYTES_PER_REQUEST + SPARE_REQUESTS;
        section.goal(new Goal(
                "requests of warm, " + route.label(),
                Goal.Bound.AT_MOST,
                mostRequests,
                requests(command)));
        section.note("rclone copies one object of the same bytes; requests: "
                + (route.statistics().isPresent()
                        ? "as the proxy counts them"
                        : "as the command counts them"));
        return section;
    }

    private Sample of(DirectoryFiller filler) {
        return seconds.getOrDefault(filler, new Sample());
    }

    private double requests(DirectoryFiller filler) {
        return requests.getOrDefault(filler, new Sample()).median();
    }

    private double ratio(DirectoryFiller filler, Optional<DirectoryFiller> rclone) {
        return rclone.map(tool -> of(filler).ratioTo(of(tool))).orElse(Double.NaN);
    }
}
