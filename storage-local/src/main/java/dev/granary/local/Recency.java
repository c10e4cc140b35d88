package dev.granary.local;

import java.io.IOException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.time.Duration;
import java.time.InstantSource;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.LockSupport;

/**
 * Remembers which entries were used, and writes it behind as the modification time of their files: once per entry, process and
 * {@link #STEP} at most, and never on the path of a hit. Thread-safe.
 */
final class Recency {
    /** Uses of one entry closer together than this count as one. */
    static final Duration STEP = Duration.ofMinutes(5);

    private static final Duration DELAY = Duration.ofSeconds(10);
    private static final int REMEMBERED = 100_000;

    private final InstantSource clock;
    private final Executor later;
    private final Trouble trouble;
    private final Map<Path, Long> known = new ConcurrentHashMap<>();
    private final Map<Path, Long> pending = new ConcurrentHashMap<>();
    private final AtomicBoolean scheduled = new AtomicBoolean();

    /** {@code later} runs a flush some seconds after it was asked to. */
    Recency(InstantSource clock, Executor later, Trouble trouble) {
        this.clock = clock;
        this.later = later;
        this.trouble = trouble;
    }

    /**
     * An executor that hands its task to {@code background} some seconds later. It waits on a thread of its own: the JDK's schedulers take
     * longer to load than a look-up takes.
     */
    static Executor delayed(Executor background) {
        return task -> Thread.ofPlatform().daemon().name("granary-local-uses").start(() -> {
            LockSupport.parkNanos(DELAY.toNanos());
            try {
                background.execute(task);
            } catch (RejectedExecutionException e) {
                task.run();
            }
        });
    }

    /** The entry in that file was used now. */
    void touch(Path file) {
        long now = clock.millis();
        Long before = known.get(file);
        if (before != null && now - before < STEP.toMillis()) {
            return;
        }
        if (known.size() >= REMEMBERED) {
            known.clear(); // forgetting costs a few stamps more
        }
        known.put(file, now);
        pending.put(file, now);
        if (scheduled.compareAndSet(false, true)) {
            later.execute(this::flush);
        }
    }

    /** Writes what is pending. */
    void flush() {
        scheduled.set(false);
        for (Path file : List.copyOf(pending.keySet())) {
            Long used = pending.remove(file);
            if (used == null) {
                continue;
            }
            try {
                stamp(file, used);
            } catch (NoSuchFileException e) {
                known.remove(file); // evicted meanwhile
            } catch (FileSystemException e) {
                pending.clear(); // a disk that cannot be written refuses the others too
                trouble.record(Trouble.Kind.STAMPING, e);
            } catch (IOException e) {
                trouble.record(Trouble.Kind.STAMPING, e);
            }
        }
    }

    private static void stamp(Path file, long millis) throws IOException {
        if (Files.getLastModifiedTime(file, LinkOption.NOFOLLOW_LINKS).toMillis() < millis) {
            Files.setLastModifiedTime(file, FileTime.fromMillis(millis));
        }
    }
}
