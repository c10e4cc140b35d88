package dev.granary.coordinator.admin;

import dev.granary.cache.Sha256;
import dev.granary.coordinator.session.ProcessSession;
import dev.granary.coordinator.session.RestoreQuarantine;

import java.io.IOException;
import java.nio.file.Path;
import java.time.Instant;
import java.time.InstantSource;
import java.util.Comparator;
import java.util.List;
import java.util.Map;

/**
 * Inventory of the quarantine of a local directory, for the tool {@code quarantine}. Opening it
 * puts the entries into quarantine during whose restore a process has ended since. Not thread-safe.
 */
public final class QuarantineInventory implements AutoCloseable {
    private final ProcessSession session;
    private final RestoreQuarantine quarantine;

    private QuarantineInventory(ProcessSession session, RestoreQuarantine quarantine) {
        this.session = session;
        this.quarantine = quarantine;
    }

    /**
     * An entry in quarantine.
     *
     * @param id the SHA-256 of its id
     * @param content the SHA-256 of its content; other content of the same id is not in quarantine
     * @param end the end of the quarantine
     */
    public record QuarantinedEntry(Sha256 id, Sha256 content, Instant end) {
        private static QuarantinedEntry of(String mark, Instant end) {
            int hyphen = mark.indexOf('-');
            return new QuarantinedEntry(
                    Sha256.parse(mark.substring(0, hyphen)),
                    Sha256.parse(mark.substring(hyphen + 1)),
                    end);
        }

        private String mark() {
            return id.hex() + "-" + content.hex();
        }
    }

    /**
     * Opens the quarantine of {@code localDirectory}, which exists.
     *
     * @throws IOException if the directory cannot be read or written
     */
    public static QuarantineInventory open(Path localDirectory, InstantSource clock)
            throws IOException {
        ProcessSession session = ProcessSession.begin(localDirectory);
        try {
            RestoreQuarantine quarantine = new RestoreQuarantine(localDirectory, session, clock);
            // uploads of ended sessions remain for a process that has their buckets
            session.inheritDead(quarantine::inherit, clock.instant());
            return new QuarantineInventory(session, quarantine);
        } catch (IOException | RuntimeException e) {
            session.close();
            throw e;
        }
    }

    /** Returns the entries in quarantine, by id. */
    public List<QuarantinedEntry> entries() {
        return sorted(quarantine.endTimes());
    }

    /**
     * Returns the plans in quarantine, since a process ended during their trial. The id is that of
     * the tuning, and the content is the source.
     */
    public List<QuarantinedEntry> plans() {
        return sorted(quarantine.planEndTimes());
    }

    private static List<QuarantinedEntry> sorted(Map<String, Instant> endTimes) {
        return endTimes.entrySet().stream()
                .map(entry -> QuarantinedEntry.of(entry.getKey(), entry.getValue()))
                .sorted(Comparator.comparing(QuarantinedEntry::mark))
                .toList();
    }

    /**
     * Ends the quarantine of an entry or plan for processes that start later; false if it had ended
     * already.
     *
     * @throws IOException if the directory cannot be written
     */
    public boolean remove(QuarantinedEntry entry) throws IOException {
        return quarantine.remove(entry.mark());
    }

    @Override
    public void close() {
        quarantine.close();
        session.close();
    }
}
