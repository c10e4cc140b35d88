package dev.granary.cli;

import dev.granary.cache.Backend;
import dev.granary.cache.Entry;
import dev.granary.cache.EntryMetadata;
import dev.granary.cache.Id;
import dev.granary.cache.KernelBinaries;
import dev.granary.cache.StoreResult;
import dev.granary.cache.Target;
import dev.granary.cli.process.TemporaryDirectory;
import dev.granary.s3.BulkBucket;
import dev.granary.s3.config.S3Config;
import dev.granary.s3.config.S3Location;
import dev.granary.s3.embedded.EmbeddedS3;
import dev.granary.s3.pack.PackPublisher;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;

/**
 * Builder of the ahead-of-time cache of the JVM (JEP 514, JEP 515) that lets the command start
 * fast. A child process records the cache while it runs {@link AotTrainingRun} against an S3 server
 * in this process.
 *
 * <p>The file is valid only for the JVM, class path and garbage collector that it was made with.
 * With any other the JVM ignores it.
 */
public final class AotCacheBuilder {
    private static final String BUCKET = "granary-training";
    private static final Target TARGET = new Target(Backend.OPENCL, "granary", "training", "1");
    private static final int ENTRIES = 3000;
    private static final int ENTRY_BYTES = 16 << 10;
    private static final int SEED = 1;

    private final List<String> trainingCommand;

    /**
     * Creates a builder for one way to start the command.
     *
     * @param trainingCommand the command line that starts {@link AotTrainingRun}, without its
     *     arguments
     */
    public AotCacheBuilder(List<String> trainingCommand) {
        this.trainingCommand = List.copyOf(trainingCommand);
    }

    /**
     * Creates the file. This takes about 10 s.
     *
     * @param file the file; atomically replaced if it exists
     * @throws IOException if the child process fails, with its output, or the file cannot be
     *     written
     * @throws InterruptedException if the calling thread is interrupted
     */
    public void make(Path file) throws IOException, InterruptedException {
        Path unfinished = file.resolveSibling(
                file.getFileName() + "-" + ProcessHandle.current().pid() + ".part");
        try (TemporaryDirectory directory = new TemporaryDirectory("granary-training-");
                EmbeddedS3 server = EmbeddedS3.start(null)) {
            server.createBucket(BUCKET);
            publish(server);
            record(server, directory.path(), unfinished);
            Files.move(unfinished, file, StandardCopyOption.ATOMIC_MOVE);
        } finally {
            Files.deleteIfExists(unfinished);
        }
    }

    private static void publish(EmbeddedS3 server) throws IOException, InterruptedException {
        S3Config config = S3Config.builder(new S3Location(BUCKET, ""))
                .endpoint(server.endpoint())
                .region("us-east-1")
                .credentials(server.accessKey(), server.secretKey())
                .build();
        SplittableRandom random = new SplittableRandom(SEED);
        EntryMetadata metadata = new EntryMetadata(
                "granary", "training", Instant.EPOCH, List.of("kernel"), List.of(), "training");
        try (BulkBucket bucket = BulkBucket.open(config)) {
            PackPublisher publisher = bucket.publisher(
                    TARGET.path(), _ -> new StoreResult.Failed("training"), _ -> {});
            for (int i = 0; i < ENTRIES; i++) {
                byte[] binary = new byte[ENTRY_BYTES];
                random.nextBytes(binary);
                Id id = Id.builder(TARGET).field("number", i).build();
                publisher.add(
                        Entry.of(id, KernelBinaries.of(binary), Duration.ofMillis(1), metadata),
                        _ -> {});
            }
            publisher.finish();
        }
    }

    private void record(EmbeddedS3 server, Path directory, Path output)
            throws IOException, InterruptedException {
        List<String> command = new ArrayList<>(trainingCommand);
        command.add(1, "-XX:AOTCacheOutput=" + output.toAbsolutePath());
        command.addAll(List.of(TARGET.path(), directory.toString()));
        Path log = directory.resolve("log");
        ProcessBuilder builder =
                new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(log.toFile());
        Map<String, String> environment = builder.environment();
        environment
                .keySet()
                .removeIf(name -> name.startsWith("GRANARY_") || name.startsWith("AWS_"));
        environment.putAll(Map.of(
                "GRANARY_BUCKET", "s3://" + BUCKET,
                "GRANARY_S3_ENDPOINT", server.endpoint().toString(),
                "AWS_ACCESS_KEY_ID", server.accessKey(),
                "AWS_SECRET_ACCESS_KEY", server.secretKey(),
                "AWS_REGION", "us-east-1",
                "XDG_CONFIG_HOME", directory.resolve("config").toString()));
        int exitCode = awaitEnd(builder.start());
        if (exitCode != 0 || !Files.exists(output)) {
            throw new IOException("the training run ended with " + exitCode + ": "
                    + Files.readString(log).strip());
        }
    }

    /** Returns the exit code. An interrupt ends the process: its directory is deleted next. */
    static int awaitEnd(Process process) throws InterruptedException {
        try {
            return process.waitFor();
        } finally {
            process.destroyForcibly().onExit().join();
        }
    }
}
