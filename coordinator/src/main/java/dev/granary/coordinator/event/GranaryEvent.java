package dev.granary.coordinator.event;

import dev.granary.cache.StoreResult;
import dev.granary.cache.Target;
import dev.granary.coordinator.statistics.PrimitiveSource;

import java.time.Duration;
import java.util.Optional;

/**
 * Event of one Granary. Immutable, and small: it names an entry by the digest of its id in
 * hexadecimal digits, empty for the empty id, and has the length of its binaries in bytes.
 */
public sealed interface GranaryEvent {
    /** Returns the time that the reported work took. */
    Duration duration();

    /**
     * End of a lookup of a program through the tiers.
     *
     * @param source where the primitive came from; empty if the lookup threw an exception, or was
     *     not to compile and found nothing. A lookup that waited for the same one of another thread
     *     has no event if that one failed
     * @param layer the name of the bucket or plugged layer; empty for other sources
     * @param bytes the length of the restored binaries in bytes; 0 for other sources
     * @param duration the time from the miss in memory to the primitive; for a source in memory the
     *     time of the call
     */
    public record Lookup(
            String id,
            Target target,
            Optional<PrimitiveSource> source,
            Optional<String> layer,
            long bytes,
            Duration duration)
            implements GranaryEvent {}

    /**
     * End of a lookup in one tier. A lookup that searches the local tier repeatedly, while another
     * process compiles, counts once.
     *
     * @param tier {@code local}, or the name of the layer
     * @param outcome hit, or the kind of miss
     * @param cause the reason of a miss in one line; empty for a hit and an absent entry
     * @param bytes the length of the binaries in bytes; 0 without a hit
     * @param duration the time spent in the tier, without waits for other processes
     */
    public record Load(
            String id,
            String tier,
            Load.Outcome outcome,
            Optional<String> cause,
            long bytes,
            Duration duration)
            implements GranaryEvent {
        /** Outcome of a lookup in one tier. */
        public enum Outcome {
            /** A verified entry. */
            HIT,
            /** The tier has no such entry. */
            ABSENT,
            /** The stored bytes failed a check. */
            DAMAGED,
            /** The entry has no signature that the place requires. */
            UNTRUSTED,
            /** The tier gave no answer in time, refused or failed. */
            UNAVAILABLE,
            /** The tier was not searched, because its time budget is used up. */
            SKIPPED
        }
    }

    /**
     * End of the attempt to restore a primitive from a stored entry.
     *
     * @param tier {@code local}, or the name of the layer
     * @param cause the reason of a rejection or failure in one line; empty for other outcomes
     * @param duration the time in the driver; zero if it was not called
     */
    public record Restore(
            String id,
            String tier,
            Restore.Outcome outcome,
            Optional<String> cause,
            long bytes,
            Duration duration)
            implements GranaryEvent {
        /** Outcome of an attempt to restore. */
        public enum Outcome {
            /** The driver accepted the binaries. */
            RESTORED,
            /** The driver accepted the binaries, but compiled again, by its log. */
            RECOMPILED,
            /** The driver rejected the binaries, or they lack a required kernel. */
            REFUSED,
            /**
             * The binaries are for another device or malformed by their container, and the driver
             * was not called.
             */
            INCOMPATIBLE,
            /** The entry is in quarantine, and the driver was not called. */
            QUARANTINED,
            /** The engine threw an exception that its contract does not allow, or an error. */
            FAILED
        }
    }

    /**
     * End of a wait for another process of the machine that compiles or fetches the same id.
     *
     * @param duration the time waited; close to zero if the wait budget was used up
     */
    public record Wait(String id, Wait.Outcome outcome, Duration duration) implements GranaryEvent {
        /** Outcome of a wait. */
        public enum Outcome {
            /** The other process has stored the entry. */
            STORED,
            /** The other process has ended without an entry, and this one has the claim. */
            CLAIMED,
            /** The wait took too long, or was interrupted. */
            GIVEN_UP
        }
    }

    /**
     * End of a compile by a lookup. A driver that compiles at the first launch, as PoCL does,
     * spends most of its time later; the counter {@code compile-millis} contains that.
     *
     * @param failure the first line of the error; empty if the source compiled
     * @param duration the time in the engine
     */
    public record Compile(String id, Target target, Optional<String> failure, Duration duration)
            implements GranaryEvent {}

    /** End of a store in the local tier, in the background. */
    public record Store(String id, StoreResult result, long bytes, Duration duration)
            implements GranaryEvent {}

    /**
     * End of a store in a layer, in the background.
     *
     * @param duration the time from sending to the result, without the time in the queue. In a pack
     *     it includes the time until the pack is full
     */
    public record Upload(String id, String layer, StoreResult result, long bytes, Duration duration)
            implements GranaryEvent {}

    /**
     * End of an eviction by this process: a sweep of the local directory, or programs that left the
     * memory tier for others. Entries of programs that leave the memory tier stay in the other
     * tiers.
     *
     * @param tier {@code local} or {@code memory}
     * @param entries the number of entries, in memory of programs
     * @param bytes their length in the directory, in bytes; 0 in memory
     */
    public record Eviction(String tier, long entries, long bytes, Duration duration)
            implements GranaryEvent {}
}
