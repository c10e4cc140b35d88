package dev.granary.cli.kernel;

import dev.granary.cache.Engine;
import dev.granary.cache.Id;
import dev.granary.cache.StoreResult;
import dev.granary.cache.support.PinStore;
import dev.granary.cache.support.Ticker;
import dev.granary.cli.manifest.KernelSpec;
import dev.granary.cli.option.CommandFailedException;
import dev.granary.cli.option.StoreOptions;
import dev.granary.cli.output.ProgressLine;
import dev.granary.cli.output.Report;
import dev.granary.cli.output.Units;
import dev.granary.coordinator.Granary;
import dev.granary.coordinator.GranaryBuilder;
import dev.granary.coordinator.config.BucketConfig;
import dev.granary.coordinator.config.ConfigException;
import dev.granary.coordinator.config.GranaryConfig;
import dev.granary.coordinator.config.GranaryConfigBuilder;
import dev.granary.coordinator.recording.RecordedId;
import dev.granary.coordinator.tier.TierFactory;
import dev.granary.gpu.KernelDescriptor;
import dev.granary.s3.BucketTier;
import dev.granary.s3.BulkBucket;

import org.jspecify.annotations.Nullable;

import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.LocalDate;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;

/**
 * {@code granary populate}: compiles the kernels that are not cached yet and publishes them, for
 * CI. The bucket is checked before anything is compiled, and every entry is read back before
 * success is reported.
 */
@Command(
        description =
                "Compile the kernels of MANIFEST that are not cached yet, publish them, and read"
                        + " each back from the bucket.")
public final class PopulateCommand extends KernelsCommand {
    private static final int LIKE_DAYS = 30;

    /** The hexadecimal digits of the prefix of an id in a note. */
    private static final int DIGITS = 16;

    @Option(
            names = "--target",
            paramLabel = "NAME",
            description = "compile by Intel's ocloc for devices that are not here: a product family"
                    + " such as tgllp, a PCI device id such as 0x9a49, either with opencl/ or"
                    + " level-zero/ before it, or a target as granary devices prints it; may be"
                    + " given several times")
    private List<String> targets = List.of();

    @Mixin
    private PopulateEngines.OwnEngines own = new PopulateEngines.OwnEngines();

    @Option(
            names = "--upload-limit",
            paramLabel = "SECONDS",
            defaultValue = "600",
            description = "how long to wait for uploads after the last kernel (default:"
                    + " ${DEFAULT-VALUE})")
    private int uploadLimit;

    @Option(
            names = "--unpacked",
            description = "publish each entry at once as an object of its own, not in packs")
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
            names = "--fresh",
            description = "compile all kernels, without the directory and without reading entries"
                    + " of buckets; publish those that the bucket lacks")
    private boolean isFresh;

    @Option(
            names = "--like",
            paramLabel = "TARGET",
            description = "only the kernels of a recording that machines of this target, as granary"
                    + " devices prints it, used in the last 30 days; for a new driver")
    private @Nullable String like;

    @Option(
            names = "--pin",
            paramLabel = "NAME",
            description = "pin the entries of this manifest in the layer, in place of an earlier"
                    + " pin of that name: collect removes none of them (lower-case letters,"
                    + " digits, - _ .)")
    private @Nullable String pin;

    @Option(
            names = "--junit",
            paramLabel = "FILE",
            description = "write a JUnit XML report, with a test case for each kernel and target")
    private @Nullable Path junit;

    @Override
    protected boolean run(Report report) throws Exception {
        requirePositive("--upload-limit must be a positive number of seconds", uploadLimit);
        requirePositive("--compile-limit must be a positive number of seconds", compileLimit);
        int threads = jobs == null ? Runtime.getRuntime().availableProcessors() : jobs;
        requirePositive("--jobs must be a positive number", threads);
        if (junit != null && !Files.isDirectory(junit.toAbsolutePath().resolveSibling("."))) {
            throw new ConfigException("there is no directory for --junit " + junit + "; create it");
        }
        if (pin != null && !pin.matches(PinStore.NAME)) {
            throw new ConfigException("--pin " + pin + ": a name has at most 100 lower-case"
                    + " letters, digits, - _ . and does not begin with a dot");
        }
        List<KernelSpec> kernels = kernels();
        // also deleted when a signal ends this process, after its compilers were killed
        try (TemporaryDirectory temporary = new TemporaryDirectory("granary-populate-")) {
            GranaryConfigBuilder config = config();
            if (isFresh) {
                config.directory(temporary.path().resolve("fresh"));
            }
            return populate(config.build(), temporary.path(), threads, kernels, report);
        }
    }

    private boolean populate(
            GranaryConfig config, Path temporary, int threads, List<KernelSpec> all, Report report)
            throws Exception {
        BucketConfig bucket = StoreOptions.firstWritable(
                config,
                "give --bucket or set GRANARY_BUCKET. granary get fills only the local directory.");
        PopulateEngines selection = new PopulateEngines(device, targets, own);
        selection.requireEnabled(config.enabled());
        Optional<String> problem = StoreOptions.problem(bucket);
        if (problem.isPresent()) {
            throw new CommandFailedException(
                    bucket.name() + " cannot be used, nothing was compiled: " + problem.get());
        }
        List<KernelSpec> kernels = like == null ? all : like(like, all, bucket);
        Publications published = new Publications();
        GranaryBuilder builder = Granary.builder().config(config).published(published);
        if (!isUnpacked) {
            builder.inPacks();
        }
        if (isFresh) {
            builder.withoutReading();
        }
        try (PopulateEngines engines = selection.open(
                        KernelRunner.geometries(kernels),
                        Duration.ofSeconds(compileLimit),
                        temporary,
                        Map.of());
                Granary granary = builder.open()) {
            List<KernelResult> obtained = new ArrayList<>();
            int others = KernelRunner.addOthers(engines.all(), kernels, report);
            KernelRunner.Pulse pulse = new KernelRunner.Pulse(
                    (kernels.size() - others) * engines.all().size(),
                    Ticker.SYSTEM,
                    line -> {
                        if (!ProgressLine.isTerminal()) {
                            err().println("granary: " + Report.withoutControls(line));
                            err().flush();
                        }
                    },
                    () -> granary.flush(KernelRunner.PUBLISH_LIMIT));
            for (Engine<KernelDescriptor, ?> engine : engines.all()) {
                List<KernelSpec> matching = KernelRunner.of(engine, kernels);
                try (ProgressLine progress =
                        new ProgressLine(err(), "populating", matching.size())) {
                    obtained.addAll(new KernelRunner(granary, engine)
                            .runAll(matching, threads, progress, pulse));
                }
            }
            int position = config.buckets().indexOf(bucket);
            for (KernelResult result : obtained) { // the bucket may lack what was found elsewhere
                if (result.outcome() == Outcome.LOCAL
                        || result.layer().orElse(position) != position) {
                    result.entry().ifPresent(granary::publish);
                }
            }
            try (ProgressLine progress = new ProgressLine(err(), "publishing", 0)) {
                for (int second = 0;
                        second < uploadLimit && !granary.flush(Duration.ofSeconds(1));
                        second++) {
                    String elapsed = second + " s";
                    progress.passing(
                            () -> Units.plural(published.count(StoreResult.Stored.class), "entry")
                                    + " published, " + elapsed);
                }
            }
            granary.sendUseNotes(); // before "there already" is said of an old entry
            Population population = new Population(bucket, position, published, obtained);
            population.readBack(err());
            List<KernelResult> results = population.results();
            KernelResult.addTo(report, results, granary.statistics(), logLines());
            if (like != null) {
                report.field(
                        "used",
                        kernels.size(),
                        kernels.size() + " of " + Units.plural(all.size(), "kernel") + " by "
                                + like);
            }
            Map<String, Id> ids = new LinkedHashMap<>(); // one of each kernel, for any target
            results.forEach(
                    result -> result.entry().ifPresent(id -> ids.putIfAbsent(result.name(), id)));
            ids.forEach((kernel, id) -> ManifestCommand.UnstableInputs.add(kernel, id, report));
            population.addTo(
                    report,
                    uploadLimit,
                    isFresh
                            ? "remove the cause and populate again."
                            : "all kernels that compiled are in " + config.directory()
                                    + "; remove the cause and populate again, which uploads them"
                                    + " without compiling.");
            boolean isPinned = pin == null || pin(bucket, population, report);
            boolean isWritten = junit == null || JUnitReport.write(junit, results, report);
            return population.isComplete() && isPinned && isWritten;
        }
    }

    /** Pins the entries, if all are there: an earlier pin is better than one of a part of them. */
    private boolean pin(BucketConfig bucket, Population population, Report report)
            throws ConfigException {
        String name = Objects.requireNonNull(pin);
        Optional<String> failure = Optional.of("not everything could be read back");
        if (population.isComplete() && bucket instanceof BucketConfig.Directory shared) {
            failure = TierFactory.shared(shared).pins().write(name, population.expected());
        } else if (population.isComplete()) {
            try (BulkBucket bulk = TierFactory.bulk(bucket, Optional.empty())) {
                failure = bulk.pins().write(name, population.expected());
            }
        }
        report.data("pinned", failure.isEmpty());
        if (failure.isEmpty()) {
            report.line(Units.plural(population.expected().size(), "entry") + " pinned as " + name);
        } else {
            report.problem("not pinned as " + name + ": " + failure.get());
        }
        return failure.isEmpty();
    }

    private static void requirePositive(String rule, int value) throws ConfigException {
        if (value <= 0) {
            throw new ConfigException(rule + ", not " + value);
        }
    }

    /** Returns the kernels whose recorded id for {@code target} a note of the last days has. */
    private static List<KernelSpec> like(
            String target, List<KernelSpec> kernels, BucketConfig bucket) throws ConfigException {
        if (!(bucket instanceof BucketConfig.S3 s3)) {
            throw new ConfigException("--like needs a bucket; " + bucket.name() + " is none");
        }
        if (kernels.stream().noneMatch(kernel -> !ids(kernel, target).isEmpty())) {
            throw new ConfigException("--like " + target + ": no kernel of the manifest was"
                    + " recorded for it; granary manifest --json lists the targets");
        }
        Set<Long> used = new HashSet<>();
        LocalDate today = LocalDate.now(ZoneOffset.UTC);
        try (BucketTier tier = TierFactory.bucketForBackground(s3)) {
            tier.useNotes().read(today.minusDays(LIKE_DAYS), today.plusDays(1), note -> {
                for (long prefix : note.ids().getOrDefault(target, new long[0])) {
                    used.add(prefix);
                }
            });
        } catch (IOException e) {
            throw new CommandFailedException(String.valueOf(e.getMessage()));
        }
        List<KernelSpec> liked = kernels.stream()
                .filter(kernel -> ids(kernel, target).stream()
                        .map(id -> Long.parseUnsignedLong(id.hash(), 0, DIGITS, DIGITS))
                        .anyMatch(used::contains))
                .toList();
        if (liked.isEmpty()) {
            throw new CommandFailedException("no machine of " + target + " has noted the use of a"
                    + " kernel of the manifest in the last " + LIKE_DAYS + " days; nothing was"
                    + " compiled");
        }
        return liked;
    }

    private static List<RecordedId> ids(KernelSpec kernel, String target) {
        return kernel.recordedIds().stream()
                .filter(id -> id.target().path().equals(target))
                .toList();
    }
}
