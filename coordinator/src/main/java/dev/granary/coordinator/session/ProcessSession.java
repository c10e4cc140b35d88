package dev.granary.coordinator.session;

import dev.granary.cache.support.LogOnce;
import dev.granary.coordinator.Granary;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.channels.OverlappingFileLockException;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.time.Instant;
import java.util.HexFormat;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * The presence of one {@link Granary} in the local directory: a sub-directory of its own with a file that it keeps locked, so that others
 * can tell, without a clock and without asking, that it has ended, however it ended. It holds what must outlive the process: the
 * {@link UploadOutbox} and the marks of {@link RestoreQuarantine}.
 */
public final class ProcessSession implements AutoCloseable {
    private static final String UNBORN = "new-";
    private static final Duration STILLBORN_AGE = Duration.ofDays(1);
    private static final Duration FORGOTTEN_AGE = Duration.ofDays(30);

    /**
     * The names of this JVM's sessions, whatever path led to them: their files must not even be opened again, since closing any channel
     * of a file drops all locks that the process has on it (POSIX).
     */
    private static final Set<String> OURS = ConcurrentHashMap.newKeySet();

    /** File locks do not exclude threads of one JVM from each other. */
    private static final Object ADOPTING = new Object();

    private final Path sessions;
    private final Path directory;
    private final FileChannel channel;

    private ProcessSession(Path sessions, Path directory, FileChannel channel) {
        this.sessions = sessions;
        this.directory = directory;
        this.channel = channel;
    }

    /**
     * Begins a session under {@code localDirectory}.
     *
     * @throws IOException if the directory cannot be written
     */
    public static ProcessSession begin(Path localDirectory) throws IOException {
        Path sessions = localDirectory.resolve("sessions");
        Files.createDirectories(sessions); // private like the directory that it is in
        String name = HexFormat.of().toHexDigits(new SplittableRandom().nextLong());
        Path unborn = Files.createDirectory(sessions.resolve(UNBORN + name));
        Path directory = sessions.resolve(name);
        OURS.add(name);
        FileChannel channel = FileChannel.open(lockFile(unborn), StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE);
        try {
            channel.lock();
            // Visible to others only now, when the lock is held: nobody can take it for a dead one.
            Files.move(unborn, directory, StandardCopyOption.ATOMIC_MOVE);
            return new ProcessSession(sessions, directory, channel);
        } catch (IOException | RuntimeException e) {
            channel.close();
            OURS.remove(name);
            throw e;
        }
    }

    /** A sub-directory of this session, created. */
    Path subdirectory(String name) throws IOException {
        return Files.createDirectories(directory.resolve(name));
    }

    /** Takes over what an ended session left. */
    @FunctionalInterface
    public interface Heir {
        /** Moves what it wants out of the dead session's directory, and deletes what nobody can want. */
        void inherit(Path deadSession) throws IOException;
    }

    /**
     * Lets {@code heir} inherit from every session that has ended, and removes those that are empty then. A session that cannot be read
     * does not keep the others from being inherited.
     *
     * @param now by which ages are told
     */
    public void adoptDead(Heir heir, Instant now) throws IOException {
        try (DirectoryStream<Path> all = Files.newDirectoryStream(sessions)) {
            for (Path session : all) {
                try {
                    adoptIfDead(session, heir, now);
                } catch (IOException | OverlappingFileLockException e) {
                    LogOnce.warn("inherit", "What an ended process left in " + session + " could not be taken over: " + e);
                }
            }
        } catch (DirectoryIteratorException e) {
            throw e.getCause();
        }
    }

    private static void adoptIfDead(Path session, Heir heir, Instant now) throws IOException {
        String name = session.getFileName().toString();
        synchronized (ADOPTING) {
            if (name.startsWith(UNBORN)) {
                removeIfStillborn(session, now);
            } else if (!OURS.contains(name) && Files.isDirectory(session)) {
                adopt(session, heir, now);
            }
        }
    }

    /** Ends the session; what it holds is for the next process to inherit, or gone with the directory if there is nothing. */
    @Override
    public void close() {
        try {
            if (isEmpty(directory.resolve(UploadOutbox.DIRECTORY))) {
                Files.deleteIfExists(directory.resolve(UploadOutbox.DIRECTORY));
                Files.deleteIfExists(directory.resolve(RestoreQuarantine.TRYING));
                Files.deleteIfExists(lockFile(directory));
                Files.deleteIfExists(directory);
            }
        } catch (IOException e) {
            // What is left is a dead session like any other: the next process removes it.
            LogOnce.warn("session", "The session " + directory + " could not be removed: " + e);
        } finally {
            closeChannel();
            OURS.remove(directory.getFileName().toString());
        }
    }

    private void closeChannel() {
        try {
            channel.close();
        } catch (IOException e) {
            LogOnce.warn("session", "The lock of session " + directory + " could not be closed: " + e);
        }
    }

    /** A process that ended in the middle of {@link #begin} leaves a directory that nobody ever locked. */
    private static void removeIfStillborn(Path session, Instant now) throws IOException {
        if (isOlderThan(session, STILLBORN_AGE, now)) {
            deleteAll(session);
        }
    }

    private static boolean isOlderThan(Path file, Duration age, Instant now) throws IOException {
        return Files.getLastModifiedTime(file).toInstant().isBefore(now.minus(age));
    }

    private static void adopt(Path session, Heir heir, Instant now) throws IOException {
        Path file = lockFile(session);
        if (Files.notExists(file)) { // for certain: an error says nothing of it
            deleteAll(session);
            return;
        }
        try (FileChannel channel = FileChannel.open(file, StandardOpenOption.WRITE); @Nullable FileLock lock = channel.tryLock()) {
            if (lock != null) {
                heir.inherit(session);
                if (isEmpty(session.resolve(UploadOutbox.DIRECTORY)) || isOlderThan(session, FORGOTTEN_AGE, now)) {
                    deleteAll(session); // else it has uploads for a bucket that this process does not know
                }
            }
        }
    }

    private static void deleteAll(Path session) throws IOException {
        for (String name : new String[] {UploadOutbox.DIRECTORY, RestoreQuarantine.TRYING}) {
            Path sub = session.resolve(name);
            if (Files.isDirectory(sub)) {
                try (DirectoryStream<Path> files = Files.newDirectoryStream(sub)) {
                    for (Path file : files) {
                        Files.deleteIfExists(file);
                    }
                }
                Files.deleteIfExists(sub);
            }
        }
        Files.deleteIfExists(lockFile(session));
        Files.deleteIfExists(session);
    }

    private static boolean isEmpty(Path directory) throws IOException {
        if (!Files.isDirectory(directory)) {
            return true;
        }
        try (DirectoryStream<Path> files = Files.newDirectoryStream(directory)) {
            return !files.iterator().hasNext();
        }
    }

    private static Path lockFile(Path session) {
        return session.resolve("lock");
    }
}
