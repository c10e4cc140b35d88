package dev.granary.it.crash;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.google.gson.GsonBuilder;
import com.google.gson.JsonArray;
import com.google.gson.JsonObject;

import dev.granary.cache.support.FileTrees;

import org.jspecify.annotations.Nullable;

import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.concurrent.Callable;
import java.util.stream.Stream;

/**
 * {@code granary bench crash}: kills processes that share a local directory, and counts lost,
 * wrong, stuck and leftover items.
 */
@Command(
        name = "crash",
        mixinStandardHelpOptions = true,
        description =
                "Kill processes that share a local directory; exit 1 if anything is lost, wrong,"
                        + " stuck or left over.")
public final class CrashCampaign implements Callable<Integer> {
    /** The names of the counts in JSON, with their labels. */
    private static final Map<String, String> COUNTS = counts();

    @Option(
            names = "--kills",
            defaultValue = "1000",
            description = "Number of processes to kill, half of them in each mode (default"
                    + " ${DEFAULT-VALUE}).")
    private int kills;

    @Option(
            names = "--round",
            defaultValue = "50",
            description = "Number of kills before each examination (default ${DEFAULT-VALUE}).")
    private int round;

    @Option(
            names = "--seed",
            description =
                    "Seed of the random choices, except the moments of the kills (default: a new"
                            + " one for each run).")
    private @Nullable Long seed;

    @Option(
            names = "--dir",
            description = "Working directory; must be missing or empty, and is kept (default: a"
                    + " temporary directory).")
    private @Nullable Path directory;

    @Option(names = "--json", description = "Write the figures to this file as well.")
    private @Nullable Path json;

    /** Runs the command. */
    public static void main(String[] arguments) {
        System.exit(new CommandLine(new CrashCampaign()).execute(arguments));
    }

    private static Map<String, String> counts() {
        Map<String, String> counts = new LinkedHashMap<>();
        counts.put("killed", "killed");
        counts.put("killedInStartUp", "of them during start");
        counts.put("seconds", "seconds");
        counts.put("examinations", "examinations");
        counts.put("acknowledged", "stores acknowledged");
        counts.put("failed", "stores that reported failure");
        counts.put("hits", "hits, all compared");
        counts.put("missed", "misses");
        counts.put("evictingSweeps", "evictions observed");
        return counts;
    }

    @Override
    public Integer call() throws IOException, InterruptedException {
        if (kills < 2 || round < 1) {
            System.err.println("granary: --kills must be 2 or more, --round 1 or more");
            return CommandLine.ExitCode.USAGE;
        }
        Path given = directory;
        Path root = given == null
                ? Files.createTempDirectory("granary-crash-")
                : Files.createDirectories(given);
        if (!isEmpty(root)) {
            System.err.println("granary: " + root
                    + " is not empty; give a directory that is missing or empty");
            return CommandLine.ExitCode.USAGE;
        }
        try {
            return run(root);
        } finally {
            if (given == null) {
                FileTrees.delete(root);
            }
        }
    }

    private int run(Path root) throws IOException, InterruptedException {
        long used = seed == null ? System.nanoTime() : seed;
        PrintWriter err = new PrintWriter(System.err, true, UTF_8);
        err.println("seed " + used);
        SplittableRandom random = new SplittableRandom(used);
        List<CrashRun> runs = new ArrayList<>();
        for (CrashMode mode : CrashMode.values()) {
            int share = mode == CrashMode.KEEP ? kills - kills / 2 : kills / 2;
            runs.add(new CrashRun(
                            mode,
                            root.resolve(mode.name().toLowerCase(Locale.ROOT)),
                            share,
                            round,
                            random.split(),
                            err)
                    .run());
        }
        print(runs);
        if (json != null) {
            Files.writeString(
                    json,
                    new GsonBuilder()
                                    .setPrettyPrinting()
                                    .disableHtmlEscaping()
                                    .create()
                                    .toJson(json(used, runs))
                            + "\n");
        }
        return runs.stream().allMatch(CrashRun::isClean) ? 0 : 1;
    }

    private static JsonObject json(long seed, List<CrashRun> runs) {
        JsonArray modes = new JsonArray();
        runs.forEach(run -> modes.add(run.json()));
        JsonObject all = new JsonObject();
        all.addProperty("seed", seed);
        all.addProperty("clean", runs.stream().allMatch(CrashRun::isClean));
        all.add("modes", modes);
        return all;
    }

    private static void print(List<CrashRun> runs) {
        List<JsonObject> columns = runs.stream().map(CrashRun::json).toList();
        row("", runs.stream().map(run -> run.mode().name()).toList());
        COUNTS.forEach((name, text) -> row(
                text,
                columns.stream()
                        .map(column -> String.format(
                                Locale.ROOT, "%,d", column.get(name).getAsLong()))
                        .toList()));
        row(
                "wrong bytes, in flight",
                runs.stream().map(run -> Long.toString(run.wrongInFlight())).toList());
        for (CrashFindings.Kind kind : CrashFindings.Kind.values()) {
            row(
                    kind.text(),
                    runs.stream()
                            .map(run -> Long.toString(run.finding().count(kind)))
                            .toList());
        }
        columns.forEach(column -> column.getAsJsonArray("examples")
                .forEach(example -> System.out.println(example.getAsString())));
    }

    private static void row(String name, List<String> cells) {
        StringBuilder line = new StringBuilder(String.format(Locale.ROOT, "%-34s", name));
        cells.forEach(cell -> line.append(String.format(Locale.ROOT, "%14s", cell)));
        System.out.println(line);
    }

    private static boolean isEmpty(Path root) throws IOException {
        try (Stream<Path> files = Files.list(root)) {
            return files.findAny().isEmpty();
        }
    }
}
