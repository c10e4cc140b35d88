package dev.granary.local;

import dev.granary.cache.Backend;
import dev.granary.cache.Entry;
import dev.granary.cache.Id;
import dev.granary.cache.LoadResult;
import dev.granary.cache.PersistentCache;
import dev.granary.cache.StoreResult;
import dev.granary.cache.format.EntryFormat;
import dev.granary.cache.format.EntryFormat.VerificationLevel;
import dev.granary.cache.format.TrustPolicy;
import dev.granary.cache.support.CheckResult;
import dev.granary.cache.support.CheckResult.Problem;
import dev.granary.cache.support.CheckResult.Sound;
import dev.granary.cache.support.ClaimStore;
import dev.granary.cache.support.DaemonThreads;
import dev.granary.cache.support.PinStore;
import dev.granary.cache.support.SharedStore;

import org.jspecify.annotations.Nullable;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.Arena;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.time.Duration;
import java.time.InstantSource;
import java.util.Optional;
import java.util.SortedSet;
import java.util.TreeSet;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Directory of entries that any number of machines share, for example over NFS: {@link EntryFiles}
 * without locks, sweeps and a capacity. A missing directory is created by the first store. A call
 * takes as long as the file system does, which may be forever if its server does not answer.
 */
public final class SharedDirectory implements PersistentCache, SharedStore {
    /** The precision of the last use of an entry, which is the time of its file. */
    private static final Duration USE_RESOLUTION = Duration.ofDays(1);

    private static final Duration ANSWER_LIMIT = Duration.ofSeconds(10);

    private final Path directory;
    private final boolean isWritable;
    private final TrustPolicy trust;
    private final InstantSource clock;
    private final EntryFiles files;
    private volatile boolean isClosed;

    /**
     * Creates the cache; neither reads nor creates the directory.
     *
     * @param isWritable false to change nothing there, not even remove damaged entries
     * @param trust which signatures of entries count
     */
    public SharedDirectory(Path directory, boolean isWritable, TrustPolicy trust) {
        this(directory, isWritable, trust, InstantSource.system());
    }

    SharedDirectory(Path directory, boolean isWritable, TrustPolicy trust, InstantSource clock) {
        this.trust = trust;
        this.directory = directory.toAbsolutePath().normalize();
        this.isWritable = isWritable;
        this.clock = clock;
        this.files = EntryFiles.shared(directory);
    }

    @Override
    public LoadResult load(Id id) {
        return loadInto(id, null);
    }

    @Override
    public LoadResult load(Id id, Arena memory) {
        return loadInto(id, memory);
    }

    private LoadResult loadInto(Id id, @Nullable Arena memory) {
        requireOpen();
        Path file = files.file(id);
        try {
            EntryFiles.Found found = files.read(file, memory, decoder(id));
            if (isWritable && found.result() instanceof LoadResult.Hit) {
                EntryFiles.recordUse(file, found.lastUse(), clock.millis(), USE_RESOLUTION);
            } else if (isWritable && EntryFiles.isRemovable(found.result())) {
                removeDamaged(file, id);
            }
            return found.result();
        } catch (IOException e) {
            return new LoadResult.Unavailable(e.toString());
        }
    }

    /** Records the use of an entry that was read without a lookup, as a lookup does. */
    public void noteUse(Id id) {
        requireOpen();
        Path file = files.file(id);
        try {
            if (isWritable) {
                FileTime last = Files.getLastModifiedTime(file, LinkOption.NOFOLLOW_LINKS);
                EntryFiles.recordUse(file, last, clock.millis(), USE_RESOLUTION);
            }
        } catch (IOException e) {
            return; // removed meanwhile
        }
    }

    private void removeDamaged(Path file, Id id) {
        try {
            files.removeDamaged(file, decoder(id));
        } catch (IOException e) {
            return; // the next store replaces it
        }
    }

    private EntryFiles.Decoder decoder(Id id) {
        return stored ->
                trust.check(EntryFormat.decode(stored, id, VerificationLevel.CONTENT_HASH));
    }

    /**
     * Stores an entry. One with the same id and other content is replaced as a whole; the same
     * content counts as used now.
     */
    @Override
    public StoreResult store(Entry entry) {
        requireOpen();
        if (!isWritable) {
            return new StoreResult.Refused(
                    StoreResult.Scope.STORE, directory + " is configured as read-only");
        }
        return trust.refusal(entry)
                .orElseGet(() -> has(entry) ? StoreResult.DUPLICATE : files.store(entry));
    }

    /** Returns whether an entry is there; sets its last use, so that no collection removes it. */
    private boolean has(Entry entry) {
        Path file = files.file(entry.id());
        try (Arena memory = Arena.ofConfined()) {
            EntryFiles.Found found = files.read(file, memory, decoder(entry.id()));
            // the JDK sets the time of the file that it has opened, which may be removed by then
            return EntryFiles.isInPlace(found, entry, trust)
                    && EntryFiles.recordUse(file, found.lastUse(), clock.millis(), Duration.ZERO)
                    && Files.exists(file);
        } catch (IOException e) {
            return false; // perhaps it can be replaced
        }
    }

    /** Removes an entry, unless the directory is read-only or has other content. */
    @Override
    public void discard(Entry entry) {
        requireOpen();
        if (isWritable) {
            try {
                files.remove(entry, decoder(entry.id()));
            } catch (IOException e) {
                return; // cannot be written now
            }
        }
    }

    /** The first claim creates its directory. */
    @Override
    public ClaimStore claims() {
        return new SharedClaims(directory, this::loadNow);
    }

    /** Returns the pins, which lie beside the entries. Reads and writes nothing yet. */
    public PinStore pins() {
        return new SharedPins(directory);
    }

    @Override
    public SortedSet<String> targets(Backend backend, String start) {
        Path targets = directory.resolve(EntryFiles.TREE).resolve(backend.path());
        try (Stream<Path> found = Files.list(targets)) {
            return found.map(target -> target.getFileName().toString())
                    .filter(name -> name.startsWith(start))
                    .limit(MAX_LISTED)
                    .collect(Collectors.toCollection(TreeSet::new));
        } catch (IOException | UncheckedIOException e) {
            return new TreeSet<>();
        }
    }

    /** Loads an entry that another machine may have stored a moment ago. */
    private LoadResult loadNow(Id id) {
        SharedClaims.refresh(files.file(id));
        return load(id);
    }

    /** Waits up to 10 s for any answer of the file system; without one, each file may hang. */
    public Optional<Problem> silence() {
        FutureTask<Boolean> listing = new FutureTask<>(() -> {
            if (!Files.isDirectory(directory)) {
                return false; // opening a pipe would block
            }
            try (DirectoryStream<Path> entries = Files.newDirectoryStream(directory)) {
                return entries.iterator().hasNext();
            }
        });
        DaemonThreads.named("granary-answer").newThread(listing).start();
        try {
            listing.get(ANSWER_LIMIT.toMillis(), TimeUnit.MILLISECONDS);
        } catch (TimeoutException e) {
            return Optional.of(new Problem(
                    directory + " gave no answer for " + ANSWER_LIMIT.toSeconds() + " s",
                    "start its file server, or mount it again"));
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } catch (ExecutionException e) {
            return Optional.empty(); // an answer, such as that it does not exist
        }
        return Optional.empty();
    }

    /**
     * Checks whether the directory can be used as configured.
     *
     * @param isQuick true to write nothing
     */
    public CheckResult check(boolean isQuick) {
        Optional<Problem> silence = silence();
        if (silence.isPresent()) {
            return silence.get();
        }
        Path existing = EntryFiles.existing(directory);
        boolean isMissing = !existing.equals(directory);
        if (isMissing && !isWritable) {
            return problem("it does not exist");
        }
        if (!Files.isDirectory(existing)) {
            return problem(existing + " is not a directory");
        }
        try (DirectoryStream<Path> _ = Files.newDirectoryStream(existing)) {
            if (isWritable && !Files.isWritable(existing)) {
                return problem("this user cannot write in " + existing);
            }
            if (isWritable && !isMissing && !isQuick) {
                Files.delete(Files.createTempFile(directory, "granary-", ".probe"));
            }
            return new Sound(directory
                    + (isMissing
                            ? " is created by the first store"
                            : " can be read" + (isWritable ? " and written" : "") + ", on "
                                    + Files.getFileStore(directory).type()));
        } catch (IOException e) {
            return problem(e.toString());
        }
    }

    private Problem problem(String cause) {
        return new Problem(
                directory + " cannot be " + (isWritable ? "written" : "read") + ": " + cause,
                isWritable
                        ? "mount it, give this user write access, or add ?access=read"
                        : "mount it, give this user access, or name another directory");
    }

    /** Closes the cache; the files stay. */
    @Override
    public void close() {
        isClosed = true;
    }

    private void requireOpen() {
        if (isClosed) {
            throw new IllegalStateException("The cache on " + directory + " is closed");
        }
    }
}
