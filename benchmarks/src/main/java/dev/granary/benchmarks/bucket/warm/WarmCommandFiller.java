package dev.granary.benchmarks.bucket.warm;

import com.google.gson.JsonObject;
import com.google.gson.JsonParser;

import dev.granary.benchmarks.bucket.server.BucketWorkspace;
import dev.granary.benchmarks.bucket.server.ServerRoute;
import dev.granary.benchmarks.bucket.workload.BucketFiller;
import dev.granary.benchmarks.bucket.workload.BucketWorkload;
import dev.granary.cli.Main;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** {@code granary warm} as a new process, measured from before its start to after its end. */
final class WarmCommandFiller implements DirectoryFiller {
    private static final int MIB_SHIFT = 20;

    private final BucketWorkspace workplace;
    private final ServerRoute route;
    private final BucketWorkload material;
    private final List<String> command;
    private long requests;

    /**
     * Creates a filler that runs the command by the launcher that started this benchmark. Without a
     * launcher, it starts a JVM with the launcher's flags.
     */
    WarmCommandFiller(BucketWorkspace workplace, ServerRoute route, BucketWorkload material) {
        this.workplace = workplace;
        this.route = route;
        this.material = material;
        String launcher = System.getProperty("granary.launcher", "");
        this.command = launcher.isEmpty()
                ? BucketWorkspace.java(BucketWorkspace.COMMAND_FLAGS, Main.class)
                : List.of(launcher);
    }

    @Override
    public String label() {
        return "warm";
    }

    @Override
    public double fill(Path directory) throws IOException, InterruptedException {
        List<String> line = new ArrayList<>(command);
        line.addAll(List.of(
                "warm",
                "--packs-only",
                "--json",
                "--target",
                material.namespace(),
                "--dir",
                directory.toString(),
                "--capacity",
                capacityMebibytes(material) + "MiB",
                "--bucket",
                route.told().get("GRANARY_BUCKET") + "/" + BucketFiller.PACKED,
                "--endpoint",
                route.endpoint().toString()));
        BucketWorkspace.Ran ran = workplace.run(line, environment(workplace, route));
        JsonObject warmed = JsonParser.parseString(ran.output())
                .getAsJsonObject()
                .getAsJsonArray("warmed")
                .get(0)
                .getAsJsonObject();
        if (warmed.get("installed").getAsInt() != material.count()) {
            throw new IOException("Not everything was installed: " + warmed);
        }
        requests = warmed.get("requests").getAsLong();
        return ran.seconds();
    }

    /** Returns the number of requests that the last run reported. */
    long requests() {
        return requests;
    }

    /** Returns a capacity that exceeds the workload. */
    static long capacityMebibytes(BucketWorkload material) {
        return ((2 * material.bytes()) >> MIB_SHIFT) + 64;
    }

    /** Returns the environment variables of the command. */
    static Map<String, String> environment(BucketWorkspace workplace, ServerRoute route) {
        return workplace.environment(route.credentials());
    }
}
