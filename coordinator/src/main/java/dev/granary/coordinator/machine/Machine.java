package dev.granary.coordinator.machine;

import dev.granary.cache.Entry;
import dev.granary.cache.Id;
import dev.granary.cache.support.Closer;
import dev.granary.cache.support.Warnings;
import dev.granary.coordinator.config.GranaryConfig;
import dev.granary.coordinator.statistics.GranaryStatistics;
import dev.granary.local.LocalClaims;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.InstantSource;
import java.util.Map;
import java.util.Optional;
import java.util.function.Consumer;

/**
 * The state of this process in the local directory: claims, session, quarantine, outbox and the
 * totals of the counters. With the capacity 0 there is none of it. Thread-safe.
 *
 * @param claims the claims of this machine; empty if lookups do not wait for other processes
 * @param session the session; empty if the directory cannot be written, as the next two
 * @param outbox the pending uploads to the target of the tiers; empty if there is none, too
 * @param totals the totals of the counters; empty without a session
 */
public record Machine(
        GranaryConfig config,
        InstantSource clock,
        Optional<LocalClaims> claims,
        Optional<ProcessSession> session,
        Optional<RestoreQuarantine> quarantine,
        Optional<UploadOutbox> outbox,
        Optional<Totals> totals)
        implements AutoCloseable {
    /**
     * The suffix of the names of outboxes whose entries are in a plugged cache. A process with the
     * directory's own local tier has none of these entries, and would drop the uploads. No name of
     * a layer contains a line break.
     */
    private static final String OF_PLUGGED_LOCAL = "\nof a plugged local cache";

    /**
     * Opens the state of this process in the directory, which the local tier has created.
     *
     * @param target the name of the layer that receives the uploads, if there is one
     * @param isLocalPlugged true if the local tier is a plugged cache
     */
    public static Machine open(
            GranaryConfig config,
            Optional<String> target,
            boolean isLocalPlugged,
            InstantSource clock) {
        Path directory = config.directory();
        boolean isOff = config.capacityBytes() == 0;
        Optional<LocalClaims> claims = isOff || config.claimWait().isZero()
                ? Optional.empty()
                : Optional.of(LocalClaims.open(directory));
        Optional<ProcessSession> session = Optional.empty();
        Optional<RestoreQuarantine> quarantine = Optional.empty();
        Optional<UploadOutbox> outbox = Optional.empty();
        if (!isOff && Files.isWritable(directory)) {
            try {
                session = Optional.of(ProcessSession.begin(directory));
                quarantine = Optional.of(new RestoreQuarantine(directory, session.get(), clock));
                if (target.isPresent()) {
                    String name = target.get() + (isLocalPlugged ? OF_PLUGGED_LOCAL : "");
                    outbox = Optional.of(new UploadOutbox(session.get(), name));
                }
            } catch (IOException e) {
                warnOfDirectory(config, e);
            }
        }
        Optional<Totals> totals = session.map(_ -> new Totals(directory));
        return new Machine(config, clock, claims, session, quarantine, outbox, totals);
    }

    private static void warnOfDirectory(GranaryConfig config, IOException e) {
        Warnings.warn(
                "session",
                "The directory " + config.directory()
                        + " cannot be written, so uploads do not survive this process: " + e);
    }

    public boolean isInQuarantine(Entry entry) {
        return quarantine.isPresent() && quarantine.get().contains(entry);
    }

    /** Begins a restore; a later process finds the entry if this one ends before its end. */
    public RestoreQuarantine.Restore beginRestore(Entry entry) {
        return quarantine.isPresent() ? quarantine.get().begin(entry) : () -> {};
    }

    /** Takes over what ended processes left: their marks of restores, and their uploads. */
    public void inherit(Consumer<Id> uploads) {
        if (session.isEmpty() || quarantine.isEmpty()) {
            return;
        }
        try {
            session.get()
                    .inheritDead(
                            dead -> {
                                quarantine.get().inherit(dead);
                                if (outbox.isPresent()) {
                                    outbox.get().inherit(dead, uploads);
                                }
                            },
                            clock.instant());
        } catch (IOException e) {
            warnOfDirectory(config, e);
        }
    }

    /**
     * Adds what this process has counted to the totals, and returns these; empty if the directory
     * is not used.
     */
    public Optional<Map<String, Long>> addTotals(GranaryStatistics statistics) {
        try {
            return totals.isPresent()
                    ? Optional.of(totals.get().add(statistics))
                    : Optional.empty();
        } catch (IOException e) {
            Warnings.warn("totals", "The statistics could not be written: " + e);
            return Optional.empty();
        }
    }

    @Override
    public void close() {
        try (Closer all = new Closer()) {
            session.ifPresent(all::add);
            quarantine.ifPresent(all::add);
            claims.ifPresent(all::add);
        }
    }
}
