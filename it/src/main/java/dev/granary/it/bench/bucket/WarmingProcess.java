package dev.granary.it.bench.bucket;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.granary.coordinator.Warm;
import dev.granary.coordinator.config.BucketLayer;
import dev.granary.coordinator.config.GranaryConfig;
import dev.granary.s3.pack.Warming;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.file.Path;
import java.util.Map;

/** A JVM that fills one directory after the other, each with a local tier of its own: whose path it reads from its standard input. */
public final class WarmingProcess {
    private WarmingProcess() {}

    /** Arguments: bucket, endpoint, target, capacity. Answers each path with the nanoseconds, the entries installed, and the requests. */
    public static void main(String[] arguments) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, UTF_8));
        for (String path = in.readLine(); path != null; path = in.readLine()) {
            GranaryConfig config = GranaryConfig.builder().environment(Map.of("XDG_CONFIG_HOME", System.getenv("XDG_CONFIG_HOME")))
                    .bucket(arguments[0]).endpoint(arguments[1]).capacity(arguments[3]).directory(Path.of(path)).build();
            long start = System.nanoTime();
            Warm.Outcome outcome = warm(config, arguments[2]);
            long nanos = System.nanoTime() - start;
            System.out.println(switch (outcome) {
                case Warm.Outcome.Done done -> nanos + " " + done.report().installed() + " " + done.report().requests();
                case Warm.Outcome.Unavailable lost -> throw new IllegalStateException(lost.cause());
            });
        }
    }

    private static Warm.Outcome warm(GranaryConfig config, String target) throws Exception {
        BucketLayer layer = config.buckets().getFirst();
        try (Warm warm = Warm.open(config, Warming.Alone.LEAVE)) {
            return warm.from(layer, target, (_, _) -> {});
        }
    }
}
