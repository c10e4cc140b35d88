package dev.granary.coordinator.event;

import dev.granary.cache.Id;
import dev.granary.cache.StoreResult;

/**
 * Listener for the publications of one Granary. It receives one result for each entry that this
 * instance compiled or published, on a thread of the background, and at the latest when the cache
 * is closed. An exception is logged.
 */
@FunctionalInterface
public interface PublicationListener {
    /**
     * Receives a result. After a failure that may pass, the upload is tried again, by the next
     * process if not by this one, without another call.
     *
     * @param layer the name of the layer; {@code local} if the entry was not sent to one
     * @param result the result of its first attempt
     */
    void published(String layer, Id id, StoreResult result);
}
