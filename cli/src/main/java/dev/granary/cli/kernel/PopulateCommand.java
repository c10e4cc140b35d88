package dev.granary.cli.kernel;

import com.google.gson.JsonObject;

import dev.granary.cache.Backend;
import dev.granary.cli.command.TierCommand;
import dev.granary.cli.compiler.CompilerProcesses;
import dev.granary.cli.device.HostDevice;
import dev.granary.cli.manifest.KernelManifest;
import dev.granary.cli.manifest.KernelSpec;
import dev.granary.cli.manifest.Shard;
import dev.granary.cli.option.BuildLogOption;
import dev.granary.cli.option.CommandFailedException;
import dev.granary.cli.option.DeviceOption;
import dev.granary.cli.option.RecordOption;
import dev.granary.cli.option.ShardConverter;
import dev.granary.cli.option.UsageException;
import dev.granary.cli.output.JsonOutput;
import dev.granary.cli.output.ProgressLine;
import dev.granary.cli.output.Units;
import dev.granary.coordinator.Granary;
import dev.granary.coordinator.admin.BucketTrial;
import dev.granary.coordinator.admin.ReadbackVerifier;
import dev.granary.coordinator.config.BucketConfig;
import dev.granary.coordinator.config.ConfigException;
import dev.granary.coordinator.config.EnabledEngines;
import dev.granary.coordinator.config.GranaryConfig;
import dev.granary.coordinator.config.PublishMode;
import dev.granary.coordinator.statistics.PrimitiveSource;

import org.jspecify.annotations.Nullable;

import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

import java.io.PrintWriter;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.concurrent.TimeUnit;

/**
 * {@code granary populate}: compiles the kernels that are not cached yet and publishes them, for
 * CI. The bucket is checked before anything is compiled, and every entry is read back before
 * success is reported.
 *
 * <p>This process does all lookups and uploads. Drivers run in {@link CompilerProcesses}, since one
 * that crashes must not take the other kernels with it.
 */
@Command(
        name = "populate",
        mixinStandardHelpOptions = true,
        description =
                "Compile the kernels of MANIFEST that are not cached yet, publish them, and read"
                        + " each back from the bucket.")
public final class PopulateCommand extends TierCommand {
    private static final long PROGRESS_NANOS = TimeUnit.SECONDS.toNanos(1);

    @Parameters(paramLabel = "MANIFEST", description = "a TOML file with [[kernel]] tables")
    private Path manifest = Path.of("");

    @Mixin
    private DeviceOption device = new DeviceOption();

    @Option(
            names = "--upload-limit",
            paramLabel = "SECONDS",
            defaultValue = "600",
            description = "how long to wait for uploads after the last kernel (default:"
                    + " ${DEFAULT-VALUE})")
    private int uploadLimit;

    @Option(
            names = "--alone",
            description =
                    "publish each entry at once as an object of its own, not in packs at the end")
    private boolean isUnpacked;

    @Option(
            names = "--jobs",
            paramLabel = "N",
            description = "the number of kernels that are compiled at the same time, each in a"
                    + " process of its own (default: the number of processors)")
    private @Nullable Integer jobs;

    @Option(
            names = "--compile-limit",
            paramLabel = "SECONDS",
            defaultValue = "600",
            description = "the time after which the compiler of a kernel is killed (default:"
                    + " ${DEFAULT-VALUE})")
    private int compileLimit;

    @Option(
            names = "--shard",
            paramLabel = "I/N",
            description = "only part I of N: give each of N machines another I, from 1 to N")
    private @Nullable String shard;

    @Mixin
    private RecordOption record = new RecordOption();

    @Mixin
    private BuildLogOption buildLog = new BuildLogOption();

    @Override
    public Integer call() throws Exception {
        PrintWriter out = out();
        PrintWriter err = err();
        requirePositive("--upload-limit must be a positive number of seconds", uploadLimit);
        requirePositive("--compile-limit must be a positive number of seconds", compileLimit);
        int threads = jobs == null ? Runtime.getRuntime().availableProcessors() : jobs;
        requirePositive("--jobs must be a positive number", threads);
        Shard part = shard == null ? Shard.WHOLE : ShardConverter.parse(shard, "--shard");
        List<KernelSpec> all = KernelManifest.read(manifest).kernels();
        List<KernelSpec> kernels = part.of(all);
        GranaryConfig config = record.in(stores().builder()).build();
        BucketConfig bucket = config.buckets().stream()
                .filter(BucketConfig::isWritable)
                .findFirst()
                .orElseThrow(() -> new ConfigException(
                        "No writable bucket is configured; give --bucket or set GRANARY_BUCKET."
                                + " granary run fills only the local directory."));
        requireEnabled(config);
        Optional<String> problem = findProblem(bucket);
        if (problem.isPresent()) {
            throw new CommandFailedException(
                    bucket.name() + " cannot be used, nothing was compiled: " + problem.get());
        }
        PublishResults published = new PublishResults();
        PublishMode mode = isUnpacked ? PublishMode.UNPACKED : PublishMode.IN_PACKS;
        try (CompilerProcesses engine = CompilerProcesses.start(
                        device.selection(),
                        KernelRunner.geometries(kernels),
                        Duration.ofSeconds(compileLimit));
                Granary granary = Granary.open(config, mode, published)) {
            KernelRunner runner = new KernelRunner(granary, engine);
            try (ProgressLine progress =
                    new ProgressLine(err, "populating", kernels.size()).watching(granary.waits())) {
                runner.runAll(kernels, progress, Math.clamp(kernels.size(), 1, threads))
                        .forEach(result -> publishAgain(granary, result));
            }
            flush(granary, published);
            PopulateResult populated = new PopulateResult(bucket, uploadLimit, published, runner);
            ReadbackVerifier readback = new ReadbackVerifier(config.buckets());
            try (ProgressLine progress = new ProgressLine(
                            err, "reading back", populated.toReadBack().size())
                    .watching(readback.waits())) {
                populated.readBack(readback, progress);
            }
            KernelReport report = runner.report();
            if (isJson()) {
                JsonObject result = report.json(buildLog.extent());
                result.add("published", populated.json());
                result.add("outcomes", populated.outcomesJson());
                result.addProperty("shard", part.toString());
                JsonOutput.print(out, result);
            } else {
                report.print(out, err, buildLog.extent());
                out.println(populated.summary());
                if (shard != null) {
                    out.println("part " + part + ": " + Units.count(kernels.size()) + " of "
                            + Units.plural(all.size(), "kernel"));
                }
                populated.printOutcomes(out);
                out.flush();
            }
            populated.printProblems(err, config.directory());
            LostPackReport.printWarnings(err, granary.statistics().layers());
            return populated.isComplete() ? 0 : 1;
        }
    }

    private static void requirePositive(String rule, int value) throws UsageException {
        if (value <= 0) {
            throw new UsageException(rule + ", not " + value);
        }
    }

    private void requireEnabled(GranaryConfig config)
            throws ConfigException, CommandFailedException, UsageException {
        if (config.enabled().disabled().isEmpty()) {
            return;
        }
        HostDevice chosen = device.device();
        Backend backend = chosen.target().backend();
        if (!config.enabled()
                .contains(new EnabledEngines.Family(backend, Optional.of(chosen.kind())))) {
            throw new ConfigException("The setting enabled (GRANARY_ENABLED) disables "
                    + backend.path() + "." + chosen.kind().name().toLowerCase(Locale.ROOT)
                    + ", so nothing would be published; enable it.");
        }
    }

    private Optional<String> findProblem(BucketConfig bucket) throws ConfigException {
        try (ProgressLine progress = new ProgressLine(err(), "checking", 0)) {
            progress.passing(bucket.name());
            return BucketTrial.problem(bucket);
        }
    }

    /** Publishes an entry that this machine already had, since the bucket may lack it. */
    private static void publishAgain(Granary granary, KernelRunner.Result result) {
        if (result instanceof KernelRunner.Result.Obtained obtained
                && obtained.source() == PrimitiveSource.LOCAL) {
            granary.publish(obtained.descriptor().getId());
        }
    }

    private void flush(Granary granary, PublishResults published) {
        long start = System.nanoTime();
        long limit = TimeUnit.SECONDS.toNanos(uploadLimit);
        try (ProgressLine progress =
                new ProgressLine(err(), "publishing", 0).watching(granary.waits())) {
            for (long elapsed = 0; elapsed < limit; elapsed = System.nanoTime() - start) {
                if (granary.flush(Duration.ofNanos(Math.min(limit - elapsed, PROGRESS_NANOS)))) {
                    return;
                }
                progress.passing(Units.plural(published.stored() + published.present(), "entry")
                        + ", " + TimeUnit.NANOSECONDS.toSeconds(elapsed) + " s");
                if (Thread.currentThread().isInterrupted()) {
                    return;
                }
            }
        }
    }
}
