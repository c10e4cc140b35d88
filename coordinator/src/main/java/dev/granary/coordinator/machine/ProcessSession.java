package dev.granary.coordinator.machine;

import dev.granary.cache.support.FileTrees;
import dev.granary.cache.support.Warnings;
import dev.granary.coordinator.Granary;

import org.jspecify.annotations.Nullable;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
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
    private static final Pattern SESSION_NAME = Pattern.compile("[0-9a-f]{16}");
    private static final Duration MAX_UNLOCKED_AGE = Duration.ofDays(1);
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

    public static ProcessSession begin(Path localDirectory) throws IOException {
        Path sessions = localDirectory.resolve("sessions");
        Files.createDirectories(sessions); // permissions as for the local directory
        String name = HexFormat.of().toHexDigits(new SplittableRandom().nextLong());
        Path directory = Files.createDirectory(sessions.resolve(name));
        Path unlocked = directory.resolve("new");
        FileChannel channel =
                FileChannel.open(unlocked, StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE);
        LIVE_IN_THIS_JVM.add(name);
        try {
            channel.lock();
            // Renamed only now, with the lock held: no process can take the session for a dead one.
            Files.move(unlocked, lockFile(directory), StandardCopyOption.ATOMIC_MOVE);
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

    Path subdirectory(String name) throws IOException {
        return Files.createDirectories(directory.resolve(name));
    }

    @FunctionalInterface
    interface DeadSessionHandler {
        /** Moves usable files out of the directory of the dead session. */
        void inherit(Path deadSession) throws IOException;
    }

    /**
     * Calls {@code handler} for each session that has ended, and then removes those that are empty.
     * A session that cannot be read does not affect the others. Links, and directories without the
     * name of a session, are left alone.
     *
     * @param now the current time, for the ages of sessions
     */
    void inheritDead(DeadSessionHandler handler, Instant now) throws IOException {
        for (Path session : others(sessions)) {
            try {
                inheritIfDead(session, handler, now);
            } catch (IOException e) {
                Warnings.warn(
                        "inherit",
                        "The files of the ended session " + session + " could not be taken over: "
                                + e);
            }
        }
    }

    private static void inheritIfDead(Path session, DeadSessionHandler handler, Instant now)
            throws IOException {
        if (Files.notExists(lockFile(session))) { // false for an I/O error
            if (isBefore(session, now.minus(MAX_UNLOCKED_AGE))) { // else it may just begin
                deleteAll(session);
            }
        } else {
            ifEnded(session, dead -> {
                handler.inherit(dead);
                if (!hasNoteSince(dead, now.minus(MAX_DEAD_AGE))) {
                    // otherwise it has uploads for a bucket that is not configured here
                    deleteAll(dead);
                }
            });
        }
    }

    /**
     * Returns the sessions of other processes, and those that ended here. Nothing else may be taken
     * for a session, which is deleted as a whole.
     */
    private static List<Path> others(Path sessions) throws IOException {
        List<Path> others = new ArrayList<>();
        for (Path path : FileTrees.list(sessions)) {
            if (SESSION_NAME.matcher(name(path)).matches()
                    && !LIVE_IN_THIS_JVM.contains(name(path))
                    && Files.isDirectory(path, LinkOption.NOFOLLOW_LINKS)) {
                others.add(path);
            }
        }
        return others;
    }

    private static String name(Path session) {
        return session.getFileName().toString();
    }

    /** Runs {@code action} with the lock of a session; false if that session has not ended. */
    private static boolean ifEnded(Path session, DeadSessionHandler action) throws IOException {
        synchronized (INHERITANCE_LOCK) {
            try (FileChannel channel =
                            FileChannel.open(lockFile(session), StandardOpenOption.WRITE);
                    @Nullable FileLock lock = FileTurn.lock(channel)) {
                if (lock != null) {
                    action.inherit(session);
                }
                return lock != null;
            }
        }
    }

    /**
     * Returns the directories of the sessions under {@code localDirectory} that have ended, and
     * that no process has taken over yet. Changes nothing.
     */
    static List<Path> ended(Path localDirectory) throws IOException {
        List<Path> ended = new ArrayList<>();
        for (Path session : others(localDirectory.resolve("sessions"))) {
            try {
                if (ifEnded(session, _ -> {})) {
                    ended.add(session);
                }
            } catch (IOException e) {
                // it begins, is being removed by another process, or cannot be read
            }
        }
        return ended;
    }

    /**
     * Ends the session. Its directory is removed if its outbox is empty, else left for the next
     * process.
     */
    @Override
    public void close() {
        try (channel) {
            if (FileTrees.list(directory.resolve(UploadOutbox.DIRECTORY)).isEmpty()) {
                deleteAll(directory);
            }
        } catch (IOException e) {
            // The rest is a dead session, which the next process removes.
            Warnings.warn("session", "The session " + directory + " could not be removed: " + e);
        } finally {
            LIVE_IN_THIS_JVM.remove(name(directory));
        }
    }

    private static boolean isBefore(Path file, Instant limit) throws IOException {
        return Files.getLastModifiedTime(file, LinkOption.NOFOLLOW_LINKS)
                .toInstant()
                .isBefore(limit);
    }

    /**
     * Deletes a session with all that is in it, since another version of Granary may have files of
     * other names there. Follows no link. Another process may delete the same session: what is gone
     * is no failure.
     */
    private static void deleteAll(Path session) throws IOException {
        for (Path file : FileTrees.list(session)) {
            // kept to the end: only its lock shows that the session has ended
            if (!file.equals(lockFile(session))) {
                FileTrees.delete(file);
            }
        }
        FileTrees.delete(session);
    }

    /** Returns true if the outbox of a session has a note that is not older than {@code limit}. */
    private static boolean hasNoteSince(Path session, Instant limit) throws IOException {
        for (Path note : FileTrees.list(session.resolve(UploadOutbox.DIRECTORY))) {
            if (!isBefore(note, limit)) {
                return true;
            }
        }
        return false;
    }

    private static Path lockFile(Path session) {
        return session.resolve("lock");
    }
}
