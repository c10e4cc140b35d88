package dev.granary.benchmarks.bucket.warm;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.granary.cli.entry.WarmCommand.Warming;
import dev.granary.coordinator.config.BucketConfig;
import dev.granary.coordinator.config.GranaryConfig;
import dev.granary.coordinator.tier.TierFactory;
import dev.granary.local.LocalTier;
import dev.granary.s3.pack.warm.BulkEntryReader.UnpackedEntries;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.file.Path;
import java.util.Map;

/**
 * A JVM that fills one directory after the other, each with its own local tier. Each line of its
 * standard input has the policy for signatures and the path of a directory.
 */
public final class WarmingProcess {
    private WarmingProcess() {}

    /**
     * Arguments: bucket, endpoint, target, capacity, public keys. Answers each line with the
     * nanoseconds, the number of installed entries, and the requests.
     */
    public static void main(String[] arguments) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] fill = line.split(" ", 2);
            GranaryConfig config = GranaryConfig.builder()
                    .environment(Map.of("XDG_CONFIG_HOME", System.getenv("XDG_CONFIG_HOME")))
                    .bucket(arguments[0] + "?trust=" + fill[0])
                    .endpoint(arguments[1])
                    .capacity(arguments[3])
                    .directory(Path.of(fill[1]))
                    .trustedKeys(arguments[4])
                    .build();
            long start = System.nanoTime();
            Warming report = warm(config, arguments[2]);
            long nanos = System.nanoTime() - start;
            System.out.println(nanos + " " + report.entries().copied() + " " + report.requests());
        }
    }

    private static Warming warm(GranaryConfig config, String target) throws Exception {
        BucketConfig layer = config.buckets().getFirst();
        try (LocalTier local = TierFactory.local(config)) {
            return Warming.run(config, layer, local, target, UnpackedEntries.SKIP, (_, _) -> {});
        }
    }
}
