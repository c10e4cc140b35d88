package dev.granary.cli.operation;

import dev.granary.cache.EntryCatalog;
import dev.granary.cli.command.LocalTierCommand;
import dev.granary.cli.option.BucketOptions;
import dev.granary.cli.option.CommandFailedException;
import dev.granary.cli.option.SelectionOptions;
import dev.granary.cli.option.UsageException;
import dev.granary.cli.output.EntryFormatter;
import dev.granary.cli.output.JsonOutput;
import dev.granary.cli.output.ProgressLine;
import dev.granary.cli.output.Units;
import dev.granary.cli.output.VerifyReport;
import dev.granary.cli.place.EntryCopier;
import dev.granary.cli.place.EntryVerifier;
import dev.granary.cli.place.Place;
import dev.granary.cli.place.Places;
import dev.granary.coordinator.config.ConfigException;
import dev.granary.coordinator.config.GranaryConfig;
import dev.granary.coordinator.config.GranaryConfigBuilder;
import dev.granary.local.LocalTier;

import org.jspecify.annotations.Nullable;

import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

import java.io.IOException;
import java.time.Instant;
import java.util.List;
import java.util.function.Predicate;

/** {@code granary verify}: reads and checks the entries of the local tier or of another place. */
@Command(
        name = "verify",
        mixinStandardHelpOptions = true,
        description =
                "Read and verify the entries of the local tier, a directory or a bucket; report"
                        + " damage and foreign files.")
public final class VerifyCommand extends LocalTierCommand {
    @Parameters(
            arity = "0..1",
            paramLabel = "PLACE",
            description = "a directory or s3://NAME/PREFIX instead of the local tier")
    private @Nullable String place;

    @Mixin
    private BucketOptions buckets = new BucketOptions();

    @Mixin
    private SelectionOptions selection = new SelectionOptions();

    @Option(
            names = "--repair",
            description = "remove damaged entries; they are compiled again when they are needed")
    private boolean isRepairing;

    @Override
    public Integer call() throws Exception {
        if (place == null || !Places.isBucket(place)) {
            return super.call();
        }
        check();
        try (Place bucket = Places.source(place, buckets.builder())) {
            return verify(bucket);
        } catch (IOException e) {
            throw new CommandFailedException("the entries cannot be listed: " + e.getMessage());
        }
    }

    @Override
    protected void check() throws UsageException, ConfigException {
        selection.check();
        boolean isBucket = place != null && Places.isBucket(place);
        if (isBucket && isRepairing) {
            throw new UsageException("--repair works on directories; in a bucket, publish the"
                    + " kernels again by granary populate");
        }
        if (!isBucket && buckets.isGiven()) {
            throw new UsageException(
                    "--endpoint and --client have no effect on a directory; name a bucket");
        }
    }

    @Override
    protected GranaryConfigBuilder configure(GranaryConfigBuilder options) throws ConfigException {
        return place == null ? options : options.directory(place);
    }

    private int verify(Place bucket) throws IOException, UsageException, InterruptedException {
        EntryCopier reader;
        try (ProgressLine progress =
                new ProgressLine(err(), "verifying", 0).watching(bucket.waits())) {
            progress.passing(bucket.name());
            List<EntryCatalog.Listed> entries =
                    selection.from(Place.entries(bucket.catalog()), Instant.now());
            reader = EntryCopier.ofNone(counters -> progress.passing(
                    Units.count(counters.done()) + " of " + Units.count(entries.size())));
            bucket.read(entries, reader);
        }
        if (isJson()) {
            JsonOutput.print(
                    out(),
                    JsonOutput.object(
                            "bucket",
                            bucket.name(),
                            "healthy",
                            reader.failed() == 0,
                            "sound",
                            reader.present(),
                            "failed",
                            reader.failed(),
                            "failures",
                            EntryFormatter.json(reader.failures())));
        } else {
            out().println(bucket.name());
            out().println(Units.plural(reader.present(), "entry") + " intact, "
                    + Units.count(reader.failed()) + " failed, "
                    + Units.bytes(reader.receivedBytes()) + " received");
            EntryFormatter.print(out(), reader.failures());
            out().flush();
        }
        return reader.failed() == 0 ? 0 : 1;
    }

    @Override
    protected String failureMessage() {
        return "the local directory cannot be verified";
    }

    @Override
    protected int run(LocalTier tier, GranaryConfig config) throws Exception {
        List<EntryCatalog.Listed> entries = selection.from(Place.entries(tier), Instant.now());
        Predicate<EntryCatalog.Listed> removal = isRepairing ? tier::remove : _ -> false;
        EntryVerifier verifier;
        try (ProgressLine progress = new ProgressLine(err(), "verifying", entries.size())) {
            verifier = EntryVerifier.all(tier, entries, removal, progressOf(progress, entries));
        }
        VerifyReport report = new VerifyReport(config.directory(), verifier, tier.usage());
        if (isJson()) {
            JsonOutput.print(out(), report.json());
        } else {
            report.print(out());
        }
        return verifier.isHealthy() ? 0 : 1;
    }
}
