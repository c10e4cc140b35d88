package dev.granary.s3.pack;

import dev.granary.cache.Sha256;
import dev.granary.s3.pack.format.PackInfo;
import dev.granary.s3.pack.manifest.PackManifest;

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
import java.util.HexFormat;
import java.util.Optional;
import java.util.Set;
import java.util.random.RandomGenerator;
import java.util.stream.Collectors;

/**
 * Cache of one target's manifest and pack indexes on the local disk, so that a process starts with
 * the results of earlier reads. Any number of processes share it. Any file may vanish or be damaged
 * at any time, and is then read from the bucket again. Thread-safe.
 */
public final class PackIndexCache {
    /** A cache that stores nothing. */
    public static final PackIndexCache NONE = new PackIndexCache(null, () -> 0);

    private static final Logger LOG = LoggerFactory.getLogger(PackIndexCache.class);
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

    /** Returns the manifest that this or another process stored last. */
    Optional<PackManifest> manifest() {
        return read("manifest", PackManifest.MAX_BYTES)
                .flatMap(bytes -> PackManifest.decode(bytes) instanceof PackManifest.Read.Ok ok
                        ? Optional.of(ok.manifest())
                        : Optional.empty());
    }

    /** Stores a manifest, and removes the indexes of packs that it does not name. */
    public void store(PackManifest manifest) {
        write("manifest", manifest.encode());
        Set<String> named = manifest.packs().stream()
                .map(pack -> pack.name().hex() + INDEX)
                .collect(Collectors.toSet());
        if (directory == null) {
            return;
        }
        try (DirectoryStream<Path> files = Files.newDirectoryStream(directory)) {
            for (Path file : files) {
                String name = file.getFileName().toString();
                if ((name.endsWith(INDEX) && !named.contains(name))
                        || (name.endsWith(TEMP_SUFFIX) && isAbandoned(file))) {
                    Files.deleteIfExists(file);
                }
            }
        } catch (IOException | RuntimeException e) {
            warn(e);
        }
    }

    /**
     * Returns the time since the stored manifest was confirmed, in milliseconds by the local clock,
     * or empty if none is stored.
     */
    Optional<Long> manifestAge(long nowMillis) {
        try {
            return directory == null
                    ? Optional.empty()
                    : Optional.of(nowMillis
                            - Files.getLastModifiedTime(directory.resolve("manifest"))
                                    .toMillis());
        } catch (IOException e) {
            return Optional.empty();
        }
    }

    /** Returns the encoded index of a pack. */
    Optional<byte[]> encodedIndex(PackInfo pack) {
        return read(pack.name().hex() + INDEX, pack.indexBytes());
    }

    /** Stores the encoded index of a pack. */
    void store(PackInfo pack, byte[] encodedIndex) {
        write(pack.name().hex() + INDEX, encodedIndex);
    }

    /** Removes the index of a pack that proved wrong. */
    void remove(Sha256 pack) {
        try {
            if (directory != null) {
                Files.deleteIfExists(directory.resolve(pack.hex() + INDEX));
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
            // the cause is in the warning; the next manifest removes the file as abandoned
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
