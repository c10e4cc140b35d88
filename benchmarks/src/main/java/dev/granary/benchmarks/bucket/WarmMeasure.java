package dev.granary.benchmarks.bucket;

import dev.granary.benchmarks.FileTree;
import dev.granary.benchmarks.Goal;
import dev.granary.benchmarks.Section;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** Filling a node by one way: the command, a running JVM, and the tools, in turn. */
final class WarmMeasure {
    private static final double LIMIT_GOAL = 1.5;
    private static final Map<Integer, Double> LOOSE_GOALS = Map.of(20, 5.0, 80, 10.0); // by the delay in milliseconds
    private static final double BYTES_PER_REQUEST = 8 << 20;
    private static final int SPARE_REQUESTS = 10;

    private final Settings settings;
    private final Workplace workplace;
    private final Way way;
    private final Material material;
    private final long packBytes;
    private final Map<Filler, Sample> seconds = new LinkedHashMap<>();
    private final Map<Filler, Sample> requests = new LinkedHashMap<>();

    WarmMeasure(Settings settings, Workplace workplace, Way way, Material material, long packBytes) {
        this.settings = settings;
        this.workplace = workplace;
        this.way = way;
        this.material = material;
        this.packBytes = packBytes;
    }

    /** Measures, and gives the table. */
    Section run() throws IOException, InterruptedException {
        Tools tools = new Tools(workplace, way, material.namespace());
        List<Filler> objects = tools.objectFillers();
        List<Filler> loose = tools.looseFillers();
        WarmCommand command = new WarmCommand(workplace, way, material);
        try (RunningWarm running = new RunningWarm(workplace, way, material)) {
            for (int i = 0; i < RunningWarm.UNMEASURED; i++) {
                turn(running);
            }
            List<Filler> all = new ArrayList<>(List.of(command));
            all.addAll(objects);
            all.add(running);
            all.addAll(loose);
            for (int round = 0; round < settings.rounds(); round++) {
                for (Filler filler : all) {
                    play(filler);
                }
                Collections.rotate(all, 1); // nobody always follows the same one
            }
            return section(command, running, objects, loose);
        }
    }

    private void play(Filler filler) throws IOException, InterruptedException {
        workplace.say("warm, " + way.label() + ": " + filler.label());
        Optional<Long> before = way.requests();
        seconds.computeIfAbsent(filler, _ -> new Sample()).add(turn(filler));
        Sample counted = requests.computeIfAbsent(filler, _ -> new Sample());
        if (before.isPresent()) {
            counted.add((double) (way.requests().orElseThrow() - before.get()));
        } else if (filler instanceof WarmCommand command) {
            counted.add((double) command.requests());
        }
    }

    /** One filling, examined and deleted, which is outside of the time. */
    private double turn(Filler filler) throws IOException, InterruptedException {
        Path directory = workplace.path("out");
        double took = filler.fill(directory);
        if (filler instanceof WarmCommand || filler instanceof RunningWarm) {
            Installed.requireAll(material, directory);
        } else if (Files.notExists(directory)) {
            throw new IOException(filler.label() + " brought nothing");
        }
        FileTree.delete(directory);
        return took;
    }

    private Section section(WarmCommand command, RunningWarm running, List<Filler> objects, List<Filler> loose) {
        Section section = new Section("warm-" + way.name(), "warm, " + way.label() + "; medians of " + settings.rounds() + " rounds",
                new Section.Column("seconds", "s", 2), new Section.Column("limitRatio", "/ limit", 2),
                new Section.Column("megabytesPerSecond", "MB/s", 0), new Section.Column("requests", "requests", 0));
        Optional<Filler> fastest = objects.stream().min((one, other) -> Double.compare(of(one).median(), of(other).median()));
        List<Filler> rows = new ArrayList<>(List.of(command, running));
        rows.addAll(objects);
        rows.addAll(loose);
        for (Filler filler : rows) {
            double median = of(filler).median();
            section.row(filler.label(), median, ratio(filler, fastest), packBytes / 1e6 / median, requests(filler));
        }
        section.goal(new Goal("warm / limit, " + way.label(), Goal.Bound.AT_MOST, LIMIT_GOAL, ratio(command, fastest)));
        section.goal(new Goal("warm / limit, running JVM, " + way.label(), Goal.Bound.AT_MOST, LIMIT_GOAL, ratio(running, fastest)));
        if (LOOSE_GOALS.containsKey(way.delayMillis())) {
            double ratio = loose.isEmpty() ? Double.NaN : of(loose.getFirst()).ratioTo(of(command));
            section.goal(new Goal("loose objects by rclone / warm, " + way.label(), Goal.Bound.AT_LEAST, LOOSE_GOALS.get(way.delayMillis()), ratio));
        }
        double mostRequests = packBytes / BYTES_PER_REQUEST + SPARE_REQUESTS;
        section.goal(new Goal("requests of warm, " + way.label(), Goal.Bound.AT_MOST, mostRequests, requests(command)));
        section.note("limit: the fastest tool for one object of the same bytes" + fastest.map(tool -> ", here " + tool.label()).orElse(", none is installed")
                + "; requests: " + (way.statistics().isPresent() ? "as the proxy counts them" : "as the command counts them"));
        return section;
    }

    private Sample of(Filler filler) {
        return seconds.getOrDefault(filler, new Sample());
    }

    private double requests(Filler filler) {
        return requests.getOrDefault(filler, new Sample()).median();
    }

    private double ratio(Filler filler, Optional<Filler> fastest) {
        return fastest.map(tool -> of(filler).ratioTo(of(tool))).orElse(Double.NaN);
    }
}
