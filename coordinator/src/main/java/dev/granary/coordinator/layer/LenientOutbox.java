package dev.granary.coordinator.layer;

import dev.granary.cache.Id;
import dev.granary.cache.support.LogOnce;
import dev.granary.coordinator.session.UploadOutbox;

import java.io.IOException;
import java.util.Optional;

/**
 * The outbox of an {@link UploadQueue}, if there is one. A failure to write it is logged, and stops
 * no upload. Thread-safe.
 *
 * @param outbox the outbox; if empty, nothing is recorded
 */
record LenientOutbox(Optional<UploadOutbox> outbox) {
    /** Records an upload for the next process; returns false if it is not recorded. */
    boolean add(Id id) {
        try {
            if (outbox.isPresent()) {
                outbox.get().add(id);
            }
            return outbox.isPresent();
        } catch (IOException e) {
            LogOnce.warn(
                    "outbox",
                    "The outbox cannot be written, so uploads do not survive this process: " + e);
            return false;
        }
    }

    /** Removes the record of an upload. */
    void remove(Id id) {
        try {
            if (outbox.isPresent()) {
                outbox.get().remove(id);
            }
        } catch (IOException e) {
            LogOnce.warn(
                    "outbox",
                    "The outbox cannot be written; an entry will be uploaded again: " + e);
        }
    }
}
