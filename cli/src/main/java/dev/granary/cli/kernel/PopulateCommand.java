package dev.granary.cli.kernel;

import com.google.gson.JsonObject;

import dev.granary.cache.Engine;
import dev.granary.cache.Id;
import dev.granary.cli.command.TierCommand;
import dev.granary.cli.compiler.TemporaryDirectory;
import dev.granary.cli.manifest.KernelManifest;
import dev.granary.cli.manifest.KernelSpec;
import dev.granary.cli.manifest.Shard;
import dev.granary.cli.option.BuildLogOption;
import dev.granary.cli.option.CommandFailedException;
import dev.granary.cli.option.Converters;
import dev.granary.cli.option.DeviceOption;
import dev.granary.cli.option.OfflineTargetOption;
import dev.granary.cli.option.RecordOption;
import dev.granary.cli.option.UsageException;
import dev.granary.cli.output.JsonOutput;
import dev.granary.cli.output.ProgressLine;
import dev.granary.cli.output.Units;
import dev.granary.cli.place.Places;
import dev.granary.coordinator.Granary;
import dev.granary.coordinator.GranaryBuilder;
import dev.granary.coordinator.config.BucketConfig;
import dev.granary.coordinator.config.ConfigException;
import dev.granary.coordinator.config.GranaryConfig;
import dev.granary.coordinator.statistics.PrimitiveSource;
import dev.granary.gpu.KernelDescriptor;

import org.jspecify.annotations.Nullable;

import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

import java.io.PrintWriter;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;

/**
 * {@code granary populate}: compiles the kernels that are not cached yet and publishes them, for
 * CI. The bucket is checked before anything is compiled, and every entry is read back before
 * success is reported.
 *
 * <p>This process does all lookups and uploads. Compilers run in processes of their own, since one
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

    @Parameters(
            paramLabel = "MANIFEST",
            description = "a TOML file with [[kernel]] tables; with --tuned a plan with [space]")
    private Path manifest = Path.of("");

    @Option(
            names = "--tuned",
            description = "publish the kernel of the best plan that granary tune has found for the"
                    + " space in MANIFEST, and the outcome; never tunes")
    private boolean isTuned;

    @Mixin
    private DeviceOption devices = new DeviceOption();

    @Mixin
    private OfflineTargetOption targets = new OfflineTargetOption();

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
            converter = Converters.Part.class,
            description = "only part I of N: give each of N machines another I, from 1 to N")
    private @Nullable Shard shard;

    @Mixin
    private RecordOption record = new RecordOption();

    @Mixin
    private BuildLogOption buildLog = new BuildLogOption();

    @Override
    public Integer call() throws Exception {
        requirePositive("--upload-limit must be a positive number of seconds", uploadLimit);
        requirePositive("--compile-limit must be a positive number of seconds", compileLimit);
        int threads = jobs == null ? Runtime.getRuntime().availableProcessors() : jobs;
        requirePositive("--jobs must be a positive number", threads);
        if (isTuned && (targets.isGiven() || devices.selections().size() > 1)) {
            throw new UsageException("--tuned publishes the best plan of one device: leave --target"
                    + " out, and select one device with --device");
        }
        Shard part = shard == null ? Shard.WHOLE : shard;
        List<KernelSpec> listed = isTuned ? List.of() : KernelManifest.read(manifest);
        GranaryConfig config = record.in(stores().builder()).build();
        BucketConfig bucket = config.buckets().stream()
                .filter(BucketConfig::isWritable)
                .findFirst()
                .orElseThrow(() -> new ConfigException(
                        "No writable bucket is configured; give --bucket or set GRANARY_BUCKET."
                                + " granary get fills only the local directory."));
        PopulateEngines.Selection selection = new PopulateEngines.Selection(devices, targets);
        selection.requireEnabled(config.enabled());
        Optional<String> problem = findProblem(bucket);
        if (problem.isPresent()) {
            throw new CommandFailedException(
                    bucket.name() + " cannot be used, nothing was compiled: " + problem.get());
        }
        if (!isTuned) {
            return populate(config, bucket, selection, threads, part, listed, Optional.empty());
        }
        try (TemporaryDirectory sources = new TemporaryDirectory("granary-populate-")) {
            TunedKernel tuned = TunedKernel.find(
                    manifest,
                    devices.selections().getFirst().oneOfOpenCl(),
                    config,
                    sources.path());
            return populate(
                    config,
                    bucket,
                    selection,
                    threads,
                    part,
                    List.of(tuned.spec()),
                    Optional.of(tuned.outcome()));
        }
    }

    /** Compiles and publishes part of the kernels, and an outcome of a tuning if there is one. */
    private int populate(
            GranaryConfig config,
            BucketConfig bucket,
            PopulateEngines.Selection selection,
            int threads,
            Shard part,
            List<KernelSpec> all,
            Optional<Id> outcome)
            throws Exception {
        PrintWriter out = out();
        PrintWriter err = err();
        List<KernelSpec> kernels = part.of(all);
        PublishResults published = new PublishResults();
        GranaryBuilder builder = Granary.builder().config(config).published(published);
        try (PopulateEngines engines = selection.open(
                        KernelRunner.geometries(kernels), Duration.ofSeconds(compileLimit));
                Granary granary = (isUnpacked ? builder : builder.inPacks()).open()) {
            List<KernelRunner.Result> results = new ArrayList<>();
            for (Engine<KernelDescriptor, ?> engine : engines.all()) {
                try (ProgressLine progress =
                        new ProgressLine(err, "populating", kernels.size()).watching(granary)) {
                    results.addAll(new KernelRunner(granary, engine)
                            .runAll(kernels, progress, Math.clamp(kernels.size(), 1, threads)));
                }
            }
            int target = config.buckets().indexOf(bucket);
            results.forEach(result -> publishAgain(granary, target, result));
            outcome.ifPresent(granary::publish);
            flush(granary, published);
            PopulateResult populated =
                    new PopulateResult(bucket, target, uploadLimit, published, results, outcome);
            ReadbackVerifier readback = new ReadbackVerifier(bucket);
            try (ProgressLine progress = new ProgressLine(
                            err, "reading back", populated.toReadBack().size())
                    .watching(readback.waits())) {
                populated.readBack(readback, progress);
            }
            KernelReport report = new KernelReport(results, granary.statistics());
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
            return populated.isComplete() ? 0 : 1;
        }
    }

    private static void requirePositive(String rule, int value) throws UsageException {
        if (value <= 0) {
            throw new UsageException(rule + ", not " + value);
        }
    }

    private Optional<String> findProblem(BucketConfig bucket) throws ConfigException {
        try (ProgressLine progress = new ProgressLine(err(), "checking", 0)) {
            progress.passing(bucket.name());
            return Places.problem(bucket);
        }
    }

    /** Publishes an entry that was found elsewhere, since the bucket may lack it. */
    private static void publishAgain(Granary granary, int target, KernelRunner.Result result) {
        if (result instanceof KernelRunner.Result.Obtained obtained
                && (obtained.source() == PrimitiveSource.LOCAL
                        || obtained.layer().orElse(target) != target)) {
            granary.publish(obtained.descriptor().getId());
        }
    }

    private void flush(Granary granary, PublishResults published) {
        long start = System.nanoTime();
        long limit = TimeUnit.SECONDS.toNanos(uploadLimit);
        try (ProgressLine progress = new ProgressLine(err(), "publishing", 0).watching(granary)) {
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
