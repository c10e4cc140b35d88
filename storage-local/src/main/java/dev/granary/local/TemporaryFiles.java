package dev.granary.local;

import dev.granary.cache.format.PutId;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedByInterruptException;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.OpenOption;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.FileTime;
import java.time.Duration;
import java.time.InstantSource;
import java.util.Set;
import java.util.concurrent.atomic.AtomicLong;
import java.util.random.RandomGenerator;

/** The files that are being written: made under names that no other process makes, swept when their writer died. Thread-safe. */
final class TemporaryFiles {
    /** A temporary file older than this has no writer any more. */
    static final Duration STALE = Duration.ofHours(1);

    private static final Set<OpenOption> NEW =
            Set.of(StandardOpenOption.WRITE, StandardOpenOption.CREATE_NEW, LinkOption.NOFOLLOW_LINKS);
    private static final int CHUNK = 1 << 20; // the channel keeps a buffer as large as the largest single write

    private final Path directory;
    private final InstantSource clock;
    private final Step.Listener steps;
    private final String prefix;
    private final AtomicLong count = new AtomicLong();

    TemporaryFiles(Path directory, InstantSource clock, RandomGenerator random, Step.Listener steps) {
        this.directory = directory;
        this.clock = clock;
        this.steps = steps;
        this.prefix = PutId.random(random).hex() + "-";
    }

    /** A name that no file has, in a directory that is there. */
    Path aside() throws IOException {
        Files.createDirectories(directory, DirectoryCheck.privateDirectory(directory));
        return next();
    }

    /** A new file with these bytes, stamped with the clock's time. Nothing is left behind where that fails. */
    Path write(byte[] bytes) throws IOException {
        Path file = next();
        try (InterruptShield _ = new InterruptShield()) {
            try (FileChannel channel = create(file)) {
                steps.done(Step.CREATED);
                write(channel, bytes, 0, bytes.length / 2);
                steps.done(Step.HALF_WRITTEN);
                write(channel, bytes, bytes.length / 2, bytes.length);
            }
            steps.done(Step.WRITTEN);
            Files.setLastModifiedTime(file, FileTime.fromMillis(clock.millis()));
            steps.done(Step.STAMPED);
            return file;
        } catch (ClosedByInterruptException e) {
            discard(file);
            throw new IOException("interrupted while writing", e);
        } catch (IOException e) {
            discard(file);
            throw e;
        }
    }

    /** Removes a temporary file; the sweep gets what cannot be removed now. */
    static void discard(Path file) {
        try {
            Files.deleteIfExists(file);
        } catch (IOException e) {
            return; // swept by age
        }
    }

    /** Removes what dead writers left; returns how many files that were. */
    int sweep() throws IOException {
        long[] swept = {0};
        long stale = clock.millis() - STALE.toMillis();
        Layout.each(directory, file -> {
            try {
                if (file.toString().endsWith(Layout.TEMPORARY)
                        && Files.getLastModifiedTime(file, LinkOption.NOFOLLOW_LINKS).toMillis() < stale
                        && Files.deleteIfExists(file)) {
                    swept[0]++;
                }
            } catch (NoSuchFileException e) {
                return; // committed or swept meanwhile
            }
        });
        return (int) swept[0];
    }

    /** A name that no file has. */
    private Path next() {
        return directory.resolve(prefix + count.getAndIncrement() + Layout.TEMPORARY);
    }

    private FileChannel create(Path file) throws IOException {
        try {
            return FileChannel.open(file, NEW, DirectoryCheck.privateFile(file));
        } catch (NoSuchFileException e) {
            Files.createDirectories(directory, DirectoryCheck.privateDirectory(directory)); // new, or removed under a live cache
            return FileChannel.open(file, NEW, DirectoryCheck.privateFile(file));
        }
    }

    private static void write(FileChannel channel, byte[] bytes, int from, int to) throws IOException {
        int at = from;
        while (at < to) {
            at += channel.write(ByteBuffer.wrap(bytes, at, Math.min(CHUNK, to - at)));
        }
    }
}
