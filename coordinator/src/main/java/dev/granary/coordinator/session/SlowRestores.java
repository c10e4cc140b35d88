package dev.granary.coordinator.session;

import dev.granary.cache.Entry;
import dev.granary.cache.Id;
import dev.granary.cache.support.LogOnce;

import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.time.InstantSource;

/**
 * Record of restores that took about as long as the compile of their entry: a driver that accepts a
 * binary may compile it again. Thread-safe.
 *
 * <p>A restore is slow if it took {@link #FLOOR} or more, and at least half of the compile time in
 * the entry. A slow restore by the clock makes a content suspected, since a loaded machine is slow,
 * too. The processor time of its next restore decides. If that is slow as well, the content is
 * confirmed, and the next lookup compiles instead of restoring. A driver that reports the compile
 * needs no such proof: its fresh binaries are stored at once. An id is replaced only once; its
 * later contents are restored, however long it takes. All records last {@link #TIME}.
 */
public final class SlowRestores {
    /** The shortest restore that may be slow; a driver's first restore in a process takes less. */
    static final Duration FLOOR = Duration.ofMillis(200);

    /** The time for which a record lasts. */
    static final Duration TIME = Duration.ofDays(90);

    /** The directory of the records in a local directory. */
    static final String DIRECTORY = "slow";

    static final String CONFIRMED = "confirmed";
    static final String REPLACED = "replaced";

    private final QuarantineDirectory suspected;
    private final QuarantineDirectory confirmed;
    private final QuarantineDirectory replaced;

    /**
     * Reads the records in {@code localDirectory}.
     *
     * @throws IOException if they cannot be read
     */
    SlowRestores(Path localDirectory, InstantSource clock) throws IOException {
        Path directory = localDirectory.resolve(DIRECTORY);
        this.suspected = new QuarantineDirectory(directory.resolve("suspected"), TIME, clock);
        this.confirmed = new QuarantineDirectory(directory.resolve(CONFIRMED), TIME, clock);
        this.replaced = new QuarantineDirectory(directory.resolve(REPLACED), TIME, clock);
    }

    /** Returns true if a lookup compiles instead of restoring {@code entry}. */
    public boolean isConfirmed(Entry entry) {
        return !confirmed.isEmpty()
                && confirmed.contains(RestoreMarks.name(entry))
                && !isReplaced(entry.id());
    }

    /** Returns true if the entry is suspected: the processor time of the next restore decides. */
    public boolean isSuspected(Entry entry) {
        return !suspected.isEmpty() && suspected.contains(RestoreMarks.name(entry));
    }

    /** Records the duration of a restore by the clock. */
    public void took(Entry entry, Duration duration) {
        if (isSlow(entry, duration) && !isReplaced(entry.id())) {
            add(suspected, entry);
        }
    }

    /**
     * Records the processor time of the restore of a suspected entry. If it is not slow, the
     * suspicion ends.
     *
     * @return true if it is slow: the driver compiled again
     */
    public boolean tookProcessorTime(Entry entry, Duration time) {
        boolean isSlow = isSlow(entry, time);
        if (isSlow && !isReplaced(entry.id())) {
            add(confirmed, entry);
        }
        if (!isSlow) {
            remove(suspected, entry);
        }
        return isSlow;
    }

    /** Records that a confirmed entry was compiled instead, and is replaced by the new binaries. */
    public void replaced(Entry entry) {
        add(replaced, entry);
        remove(confirmed, entry);
        remove(suspected, entry);
    }

    /** Returns true if this machine has replaced a content of that id. */
    private boolean isReplaced(Id id) {
        return !replaced.isEmpty() && replaced.containsId(id.hash());
    }

    private static boolean isSlow(Entry entry, Duration time) {
        return time.compareTo(FLOOR) >= 0
                && time.compareTo(entry.compileTime().dividedBy(2)) >= 0
                && !entry.compileTime().isZero();
    }

    private static void add(QuarantineDirectory records, Entry entry) {
        try {
            records.add(RestoreMarks.name(entry));
        } catch (IOException e) {
            warn(e);
        }
    }

    private static void remove(QuarantineDirectory records, Entry entry) {
        try {
            records.remove(RestoreMarks.name(entry));
        } catch (IOException e) {
            warn(e);
        }
    }

    private static void warn(IOException failure) {
        LogOnce.warn("slow", "A slow restore cannot be recorded: " + failure);
    }
}
