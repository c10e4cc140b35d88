package dev.granary.cli.entry;

import dev.granary.cache.Entry;
import dev.granary.cache.EntryCatalog;
import dev.granary.cache.EntryCatalog.Listed;
import dev.granary.cache.LoadResult.DamageKind;
import dev.granary.cache.StoreResult;
import dev.granary.cache.support.CheckResult.Problem;
import dev.granary.cli.output.Report;
import dev.granary.cli.output.Units;
import dev.granary.coordinator.config.BucketConfig;
import dev.granary.coordinator.config.ConfigException;
import dev.granary.coordinator.config.GranaryConfig;
import dev.granary.coordinator.config.GranaryConfigBuilder;
import dev.granary.coordinator.tier.TierFactory;
import dev.granary.coordinator.toml.SafeText;
import dev.granary.local.EntryFiles;
import dev.granary.local.LocalDirectoryException;
import dev.granary.local.LocalTier;
import dev.granary.local.PrivateSubdirectory;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.function.Consumer;

/**
 * Place of entries that a command line names, the source or the destination of a copy:
 * {@code s3://} and a bucket, or {@code file:///} and a shared directory, with options as in
 * {@code --bucket}; or else a directory, which is the one that {@code --dir} would use.
 * Thread-safe.
 */
public abstract sealed class Place implements AutoCloseable permits DirectoryPlace, BucketPlace {
    private static final String SCHEME_END = "://";
    private static final List<String> LAYERS = List.of("s3" + SCHEME_END, "file" + SCHEME_END);

    final String name;
    final EntryCatalog catalog;

    Place(String name, EntryCatalog catalog) {
        this.name = name;
        this.catalog = catalog;
    }

    /** Returns the number of entries that a search may read; in a bucket each is a request. */
    abstract int maxSearched();

    /**
     * Reads and verifies all of {@code wanted}, and passes each to {@code copier} once, on several
     * threads. Entries that were removed meanwhile are left out.
     */
    abstract void read(List<Listed> wanted, EntryCopier copier) throws InterruptedException;

    /** Prepares this place for {@link #contains}. */
    void prepare() throws IOException {}

    /** Returns whether this place has an entry; one that is known to be damaged does not count. */
    abstract boolean contains(Listed entry);

    /** Returns the number of stores at once that are fastest. */
    abstract int writers();

    /**
     * Stores an entry, whose bytes need not be valid after the call.
     *
     * @param whenDone is called with the result, at the latest by {@link #finish}
     */
    abstract void store(Entry entry, Consumer<StoreResult> whenDone);

    void finish() {}

    @Override
    public void close() {}

    /** Returns all entries of a catalogue, most recently used first. */
    static List<Listed> entries(EntryCatalog catalog) throws IOException {
        List<Listed> entries = new ArrayList<>();
        catalog.list(entries::add);
        entries.sort(Comparator.comparingLong(Listed::lastUsedMillis).reversed());
        return entries;
    }

    /** Returns true for entries of another version of Granary, which are not damaged. */
    static boolean isOtherVersion(DamageKind damage) {
        return damage == DamageKind.TOO_OLD || damage == DamageKind.TOO_NEW;
    }

    /** Returns the name of a kind of damage, such as {@code too old}. */
    static String name(DamageKind damage) {
        return damage.name().toLowerCase(Locale.ROOT).replace('_', ' ');
    }

    /** Adds a number of entries to a report, with their length in bytes. */
    static Report add(String name, long entries, long bytes, Report report) {
        return report.field(name, entries, Units.entries(entries, bytes))
                .data(name + "Bytes", bytes);
    }

    public static long bytes(List<Listed> entries) {
        return entries.stream().mapToLong(Listed::bytes).reduce(0, Units::sum);
    }

    /** Opens a place to read from: a bucket, or a directory that has entries. */
    static Place source(String text, GranaryConfigBuilder builder)
            throws ConfigException, LocalDirectoryException {
        Place place = isLayer(text) ? of(bucket(text, builder)) : directory(path(text));
        requireEntries(place);
        return place;
    }

    /** Refuses a directory that has no entries and never had one. */
    static void requireEntries(Place place) throws ConfigException {
        if (place instanceof DirectoryPlace local && !local.files.exists()) {
            throw new ConfigException(SafeText.of(place.name)
                    + (Files.isDirectory(local.directory)
                            ? " has no entries: it has no subdirectory v3"
                            : " is not a directory"));
        }
    }

    private static DirectoryPlace directory(Path named) {
        DirectoryPlace own = new DirectoryPlace(PrivateSubdirectory.resolve(named));
        return own.files.exists() ? own : new DirectoryPlace(named); // written by another user
    }

    /** Opens a place to write to: a layer, or a directory, which need not exist. */
    static Place destination(String text, GranaryConfigBuilder builder)
            throws ConfigException, LocalDirectoryException {
        if (isLayer(text)) {
            return of(writableLayer(text, builder));
        }
        Path directory = PrivateSubdirectory.resolve(path(text));
        if (Files.exists(directory) && !Files.isDirectory(directory)) {
            throw new ConfigException(SafeText.of(text) + " is not a directory");
        }
        return new DirectoryPlace(directory);
    }

    /** Returns the place of the local directory, which need not exist and is not created. */
    static Place local(GranaryConfig config) throws LocalDirectoryException {
        if (Files.exists(config.directory())) {
            LocalTier.prepareDirectory(config.directory());
        }
        return new DirectoryPlace(config.directory());
    }

    @FunctionalInterface
    interface Opener {
        Place open() throws ConfigException, LocalDirectoryException;
    }

    /** Returns the tiers in the order of lookups: the local directory if it exists, and buckets. */
    static List<Opener> tiers(GranaryConfig config) {
        List<Opener> tiers = new ArrayList<>();
        if (Files.exists(config.directory())) {
            tiers.add(() -> local(config));
        }
        config.buckets().forEach(bucket -> tiers.add(() -> of(bucket)));
        return tiers;
    }

    /** Opens the place of a layer for background work. Only a shared directory must answer. */
    static Place of(BucketConfig layer) throws ConfigException, LocalDirectoryException {
        return switch (layer) {
            case BucketConfig.Directory shared -> of(shared);
            case BucketConfig.S3 bucket ->
                new BucketPlace(bucket.name(), TierFactory.bucketForBackground(bucket));
        };
    }

    static DirectoryPlace of(BucketConfig.Directory shared) throws LocalDirectoryException {
        if (TierFactory.shared(shared).silence().orElse(null)
                instanceof Problem(var cause, var cure)) {
            throw new LocalDirectoryException(cause + "; " + cure);
        }
        return new DirectoryPlace(shared.name(), shared.path(), EntryFiles.shared(shared.path()));
    }

    /**
     * Returns whether a text names a layer: a bucket or a shared directory, which have no private
     * subdirectory, capacity and counters.
     *
     * @throws ConfigException if it names another kind of place
     */
    static boolean isLayer(String text) throws ConfigException {
        boolean isLayer = LAYERS.stream().anyMatch(text::startsWith);
        if (text.contains(SCHEME_END) && !isLayer) {
            throw new ConfigException(SafeText.of(text.substring(0, text.indexOf(SCHEME_END)))
                    + ": is no kind of place; give a directory, s3://NAME/PREFIX or"
                    + " file:///PATH");
        }
        return isLayer;
    }

    static BucketConfig layer(String text, GranaryConfigBuilder builder) throws ConfigException {
        if (!isLayer(text)) {
            throw new ConfigException(
                    SafeText.of(text) + " is not a bucket, such as s3://kernels/team");
        }
        return bucket(text, builder);
    }

    /** Returns the layer that a text names, unless it is configured as read-only. */
    static BucketConfig writableLayer(String text, GranaryConfigBuilder builder)
            throws ConfigException {
        BucketConfig bucket = layer(text, builder);
        if (!bucket.isWritable()) {
            throw new ConfigException(bucket.name() + " is configured as read-only");
        }
        return bucket;
    }

    /** Returns the layer that a text names: a configured one with its settings, or another one. */
    private static BucketConfig bucket(String text, GranaryConfigBuilder builder)
            throws ConfigException {
        for (BucketConfig configured : builder.build().buckets()) {
            if (configured.address().equals(text)) {
                return configured; // with its own endpoint and options
            }
        }
        List<BucketConfig> buckets = builder.bucket(text).build().buckets();
        if (buckets.size() != 1) {
            throw new ConfigException("a place is one bucket");
        }
        return buckets.getFirst();
    }

    private static Path path(String text) throws ConfigException {
        if (text.isBlank()) { // such as a variable of a shell that is not set
            throw new ConfigException(
                    "A place is empty; give a directory, s3://NAME/PREFIX or file:///PATH");
        }
        if (text.startsWith("~")) {
            throw new ConfigException(
                    SafeText.of(text) + " is a directory with ~, which only a shell expands");
        }
        try {
            return Path.of(text).toAbsolutePath().normalize();
        } catch (InvalidPathException e) {
            throw new ConfigException(SafeText.of(text) + " is not the name of a directory");
        }
    }
}
