package dev.granary.s3.pack;

import dev.granary.s3.layout.ObjectName;
import dev.granary.s3.pack.format.PackInfo;
import dev.granary.s3.register.Base;
import dev.granary.s3.register.Register;
import dev.granary.s3.register.RegisterException;

import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.time.Instant;
import java.util.Collection;
import java.util.HexFormat;
import java.util.Optional;
import java.util.Set;
import java.util.random.RandomGenerator;
import java.util.stream.Collectors;

/**
 * Cache of one target's head, base and pack indexes on the local disk, so that a process starts
 * with the results of earlier reads. Any number of processes share it. Any file may vanish or be
 * damaged at any time, and is then read from the bucket again. Thread-safe.
 */
public final class PackIndexCache {
    /** A cache that stores nothing. */
    public static final PackIndexCache NONE = new PackIndexCache(null, () -> 0);

    private static final Logger LOG = LoggerFactory.getLogger(PackIndexCache.class);
    private static final String HEAD = "head";
    private static final int MAX_HEAD_BYTES = 8 << 20;
    private static final String BASE = ".base";
    private static final String INDEX = ".index";
    private static final String TEMP_SUFFIX = ".part";
    private static final Duration ABANDONED_AGE = Duration.ofHours(1);

    private final @Nullable Path directory;
    private final RandomGenerator random;
    private volatile boolean hasWarned;

    PackIndexCache(@Nullable Path directory, RandomGenerator random) {
        this.directory = directory;
        this.random = random;
    }

    /**
     * A head that was read by this or another process.
     *
     * @param stored the head
     * @param confirmedMillis when it was the newest one, by the local clock, in milliseconds since
     *     1970
     */
    record CachedHead(Register.Stored stored, long confirmedMillis) {}

    /** Returns the head that this or another process stored last. */
    Optional<CachedHead> head() {
        if (directory == null) {
            return Optional.empty();
        }
        return read(HEAD, MAX_HEAD_BYTES).flatMap(bytes -> {
            try {
                return Optional.of(new CachedHead(
                        Register.decode(bytes),
                        Files.getLastModifiedTime(directory.resolve(HEAD)).toMillis()));
            } catch (IOException e) {
                return Optional.empty();
            }
        });
    }

    /**
     * Stores a head that was just read, unless a newer one is there: this process may have been
     * suspended. Removes the indexes of packs that are not named.
     */
    void store(Register.Stored head, Collection<PackInfo> named) {
        if (directory == null
                || head().filter(there ->
                                there.stored().head().generation() > head.head().generation())
                        .isPresent()) {
            return;
        }
        write(HEAD, Register.encode(head));
        Set<String> used =
                named.stream().map(pack -> pack.name() + INDEX).collect(Collectors.toSet());
        head.head().base().ifPresent(name -> used.add(name + BASE));
        try (DirectoryStream<Path> files = Files.newDirectoryStream(directory)) {
            for (Path file : files) {
                String name = file.getFileName().toString();
                boolean isOwn = name.endsWith(INDEX) || name.endsWith(BASE);
                if ((isOwn && !used.contains(name))
                        || (name.endsWith(TEMP_SUFFIX) && isAbandoned(file))) {
                    Files.deleteIfExists(file);
                }
            }
        } catch (IOException | RuntimeException e) {
            warn(e);
        }
    }

    /** Forgets the head, after the bucket had none. */
    void removeHead() {
        delete(HEAD);
    }

    /** Returns a base. */
    Optional<Base> base(ObjectName name) {
        return read(name + BASE, Base.MAX_BYTES).flatMap(bytes -> {
            try {
                return Optional.of(Base.decode(name, bytes));
            } catch (RegisterException e) {
                return Optional.empty();
            }
        });
    }

    /** Stores a base. */
    void store(Base base) {
        write(base.name() + BASE, base.encoded());
    }

    /** Returns the encoded index of a pack. */
    Optional<byte[]> encodedIndex(PackInfo pack) {
        return read(pack.name() + INDEX, pack.indexBytes());
    }

    /** Stores the encoded index of a pack. */
    void store(PackInfo pack, byte[] encodedIndex) {
        write(pack.name() + INDEX, encodedIndex);
    }

    /** Removes the index of a pack that proved wrong. */
    void remove(ObjectName pack) {
        delete(pack + INDEX);
    }

    private void delete(String name) {
        try {
            if (directory != null) {
                Files.deleteIfExists(directory.resolve(name));
            }
        } catch (IOException e) {
            warn(e);
        }
    }

    /** Returns true for a file of a process that ended while writing. */
    private static boolean isAbandoned(Path file) throws IOException {
        return Files.getLastModifiedTime(file)
                .toInstant()
                .isBefore(Instant.now().minus(ABANDONED_AGE));
    }

    private Optional<byte[]> read(String name, long limit) {
        if (directory == null) {
            return Optional.empty();
        }
        Path file = directory.resolve(name);
        try {
            try (InputStream in = Files.newInputStream(file)) {
                // a length taken beforehand may be outdated
                byte[] bytes = in.readNBytes((int) limit + 1);
                return bytes.length > limit ? Optional.empty() : Optional.of(bytes);
            }
        } catch (NoSuchFileException e) {
            return Optional.empty();
        } catch (IOException e) {
            warn(e);
            return Optional.empty();
        }
    }

    private void write(String name, byte[] bytes) {
        if (directory == null) {
            return;
        }
        Path temporary = directory.resolve(
                name + "-" + HexFormat.of().toHexDigits(random.nextLong()) + TEMP_SUFFIX);
        try {
            createPrivate(directory);
            Files.write(temporary, bytes);
            Files.move(temporary, directory.resolve(name), StandardCopyOption.ATOMIC_MOVE);
        } catch (IOException e) {
            warn(e);
            deleteAfterFailure(temporary);
        }
    }

    /** Deletes an incomplete file at once, since it takes space on a full disk. */
    private static void deleteAfterFailure(Path temporary) {
        try {
            Files.deleteIfExists(temporary);
        } catch (IOException e) {
            // the cause is in the warning; the next head removes the file as abandoned
        }
    }

    /**
     * Creates the directory with owner-only access. The local directory above it may not exist yet.
     */
    private static void createPrivate(Path directory) throws IOException {
        if (directory.getFileSystem().supportedFileAttributeViews().contains("posix")) {
            Files.createDirectories(
                    directory,
                    PosixFilePermissions.asFileAttribute(
                            PosixFilePermissions.fromString("rwx------")));
        } else {
            Files.createDirectories(directory);
        }
    }

    private void warn(Exception e) {
        if (!hasWarned) {
            hasWarned = true;
            LOG.warn(
                    "The indexes of packs cannot be cached in {}, so each process reads them from"
                            + " the bucket: {}",
                    directory,
                    e.toString());
        }
    }
}
