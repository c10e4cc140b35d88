package dev.granary.coordinator.machine;

import dev.granary.cache.support.Warnings;
import dev.granary.coordinator.Granary;

import org.jspecify.annotations.Nullable;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.channels.OverlappingFileLockException;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.BasicFileAttributes;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.concurrent.ConcurrentHashMap;
import java.util.regex.Pattern;

/**
 * The presence of one {@link Granary} in the local directory: a subdirectory with a locked file. If
 * the lock is free, the session has ended, however that happened; no clock or message is needed.
 * The subdirectory holds what must survive the process: the {@link UploadOutbox} and the marks of
 * {@link RestoreQuarantine}.
 */
public final class ProcessSession implements AutoCloseable {
    private static final String TEMP_PREFIX = "new-";
    private static final Pattern SESSION_NAME =
            Pattern.compile("(" + TEMP_PREFIX + ")?[0-9a-f]{16}");
    private static final Duration ABANDONED_TEMP_AGE = Duration.ofDays(1);
    private static final Duration MAX_DEAD_AGE = Duration.ofDays(30);

    /**
     * The names of the sessions of this JVM, which identify them under any path. Their lock files
     * must not be opened again: closing any channel of a file releases all locks that the process
     * has on it (POSIX).
     */
    private static final Set<String> LIVE_IN_THIS_JVM = ConcurrentHashMap.newKeySet();

    /** Lock of inheritance: file locks do not exclude threads of one JVM from each other. */
    private static final Object INHERITANCE_LOCK = new Object();

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
        Files.createDirectories(sessions); // permissions as for the local directory
        String name = HexFormat.of().toHexDigits(new SplittableRandom().nextLong());
        Path temporary = Files.createDirectory(sessions.resolve(TEMP_PREFIX + name));
        Path directory = sessions.resolve(name);
        FileChannel channel = FileChannel.open(
                lockFile(temporary), StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE);
        LIVE_IN_THIS_JVM.add(name);
        try {
            channel.lock();
            // Renamed only now, with the lock held: no process can take the session for a dead one.
            Files.move(temporary, directory, StandardCopyOption.ATOMIC_MOVE);
            return new ProcessSession(sessions, directory, channel);
        } catch (IOException | RuntimeException e) {
            channel.close();
            LIVE_IN_THIS_JVM.remove(name);
            throw e;
        }
    }

    /** Returns the file {@code name} of this session, which may be absent. */
    Path file(String name) {
        return directory.resolve(name);
    }

    /** Creates a subdirectory of this session if it is absent, and returns it. */
    Path subdirectory(String name) throws IOException {
        return Files.createDirectories(directory.resolve(name));
    }

    /** Handler of the files of an ended session. */
    @FunctionalInterface
    public interface DeadSessionHandler {
        /**
         * Moves usable files out of the directory of the dead session, and deletes files that are
         * of no use to any process.
         */
        void inherit(Path deadSession) throws IOException;
    }

    /**
     * Calls {@code handler} for each session that has ended, and then removes those that are empty.
     * A session that cannot be read does not affect the others. Links, and directories without the
     * name of a session, are left alone.
     *
     * @param now the current time, for the ages of sessions
     */
    public void inheritDead(DeadSessionHandler handler, Instant now) throws IOException {
        try (DirectoryStream<Path> all = Files.newDirectoryStream(sessions)) {
            for (Path session : all) {
                try {
                    inheritIfDead(session, handler, now);
                } catch (IOException | OverlappingFileLockException e) {
                    Warnings.warn(
                            "inherit",
                            "The files of the ended session " + session
                                    + " could not be taken over: " + e);
                }
            }
        } catch (DirectoryIteratorException e) {
            throw e.getCause();
        }
    }

    private static void inheritIfDead(Path session, DeadSessionHandler handler, Instant now)
            throws IOException {
        String name = session.getFileName().toString();
        // A session is deleted as a whole: nothing else may be taken for one.
        if (!SESSION_NAME.matcher(name).matches()
                || !Files.isDirectory(session, LinkOption.NOFOLLOW_LINKS)) {
            return;
        }
        synchronized (INHERITANCE_LOCK) {
            if (name.startsWith(TEMP_PREFIX)) {
                removeIfAbandoned(session, now);
            } else if (!LIVE_IN_THIS_JVM.contains(name)) {
                inherit(session, handler, now);
            }
        }
    }

    /**
     * Returns the directories of the sessions under {@code localDirectory} that have ended, and
     * that no process has taken over yet. Changes nothing.
     *
     * @throws IOException if the directory cannot be read
     */
    static List<Path> ended(Path localDirectory) throws IOException {
        Path sessions = localDirectory.resolve("sessions");
        if (!Files.isDirectory(sessions)) {
            return List.of();
        }
        List<Path> ended = new ArrayList<>();
        try (DirectoryStream<Path> all = Files.newDirectoryStream(sessions)) {
            for (Path session : all) {
                if (isEnded(session)) {
                    ended.add(session);
                }
            }
        } catch (DirectoryIteratorException e) {
            throw e.getCause();
        }
        return ended;
    }

    private static boolean isEnded(Path session) throws IOException {
        String name = session.getFileName().toString();
        if (!SESSION_NAME.matcher(name).matches() || name.startsWith(TEMP_PREFIX)) {
            return false;
        }
        synchronized (INHERITANCE_LOCK) {
            if (LIVE_IN_THIS_JVM.contains(name)) {
                return false;
            }
            try (FileChannel channel =
                            FileChannel.open(lockFile(session), StandardOpenOption.WRITE);
                    @Nullable FileLock lock = channel.tryLock()) {
                return lock != null;
            } catch (NoSuchFileException e) {
                return false; // another process is removing it
            }
        }
    }

    /**
     * Ends the session. Its directory is removed if its outbox is empty, else left for the next
     * process.
     */
    @Override
    public void close() {
        try {
            if (isEmpty(directory.resolve(UploadOutbox.DIRECTORY))) {
                Files.deleteIfExists(directory.resolve(UploadOutbox.DIRECTORY));
                Files.deleteIfExists(directory.resolve(RestoreQuarantine.MARKS_FILE));
                Files.deleteIfExists(lockFile(directory));
                Files.deleteIfExists(directory);
            }
        } catch (IOException e) {
            // The rest is a dead session, which the next process removes.
            Warnings.warn("session", "The session " + directory + " could not be removed: " + e);
        } finally {
            closeChannel();
            LIVE_IN_THIS_JVM.remove(directory.getFileName().toString());
        }
    }

    private void closeChannel() {
        try {
            channel.close();
        } catch (IOException e) {
            Warnings.warn(
                    "session", "The lock of session " + directory + " could not be closed: " + e);
        }
    }

    /**
     * Removes the directory of a process that ended during {@link #begin}, before it held the lock.
     */
    private static void removeIfAbandoned(Path session, Instant now) throws IOException {
        if (isBefore(session, now.minus(ABANDONED_TEMP_AGE))) {
            deleteAll(session);
        }
    }

    private static boolean isBefore(Path file, Instant limit) throws IOException {
        return Files.getLastModifiedTime(file, LinkOption.NOFOLLOW_LINKS)
                .toInstant()
                .isBefore(limit);
    }

    private static void inherit(Path session, DeadSessionHandler handler, Instant now)
            throws IOException {
        Path file = lockFile(session);
        if (Files.notExists(file)) { // false for an I/O error
            deleteAll(session);
            return;
        }
        try (FileChannel channel = FileChannel.open(file, StandardOpenOption.WRITE);
                @Nullable FileLock lock = channel.tryLock()) {
            if (lock != null) {
                handler.inherit(session);
                if (!hasNoteSince(
                        session.resolve(UploadOutbox.DIRECTORY), now.minus(MAX_DEAD_AGE))) {
                    // otherwise it has uploads for a bucket that is not configured here
                    deleteAll(session);
                }
            }
        }
    }

    /**
     * Deletes a session with all that is in it, since another version of Granary may have files of
     * other names there. Follows no link. Another process may delete the same session: what is gone
     * is no failure. Unlike {@code FileTrees.delete}, it deletes the lock file last.
     */
    private static void deleteAll(Path session) throws IOException {
        Path lockFile = lockFile(session);
        Files.walkFileTree(session, new SimpleFileVisitor<>() {
            @Override
            public FileVisitResult visitFile(Path file, BasicFileAttributes attributes)
                    throws IOException {
                // kept to the end: only its lock shows that the session has ended
                if (!file.equals(lockFile)) {
                    Files.deleteIfExists(file);
                }
                return FileVisitResult.CONTINUE;
            }

            @Override
            public FileVisitResult visitFileFailed(Path file, IOException failure)
                    throws IOException {
                if (failure instanceof NoSuchFileException) {
                    return FileVisitResult.CONTINUE;
                }
                throw failure;
            }

            @Override
            public FileVisitResult postVisitDirectory(Path visited, @Nullable IOException failure)
                    throws IOException {
                if (failure != null) {
                    throw failure;
                }
                if (visited.equals(session)) {
                    Files.deleteIfExists(lockFile);
                }
                Files.deleteIfExists(visited);
                return FileVisitResult.CONTINUE;
            }
        });
    }

    /** Returns true if an outbox has a note that is not older than {@code limit}. */
    private static boolean hasNoteSince(Path outbox, Instant limit) throws IOException {
        if (!Files.isDirectory(outbox)) {
            return false;
        }
        try (DirectoryStream<Path> notes = Files.newDirectoryStream(outbox)) {
            for (Path note : notes) {
                if (!isBefore(note, limit)) {
                    return true;
                }
            }
            return false;
        } catch (DirectoryIteratorException e) {
            throw e.getCause();
        }
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
