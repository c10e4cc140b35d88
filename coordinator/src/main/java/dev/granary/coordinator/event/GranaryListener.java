package dev.granary.coordinator.event;

import dev.granary.cache.Id;
import dev.granary.cache.StoreResult;

/**
 * Listener of the events of one Granary; {@code Granary.builder().listener(...)} registers it.
 *
 * <p>It is called by one thread of its own, in the order of the events. A slow listener delays no
 * lookup: up to 8,192 events wait for it, and further ones are dropped and counted as
 * {@code events-dropped}. If it throws, the first exception is logged, and the next event is
 * delivered as usual. {@code Granary.close()} waits for the delivery at most the configured flush
 * limit, then interrupts the listener and drops the rest.
 */
@FunctionalInterface
public interface GranaryListener {
    /**
     * Returns true if hits in memory are to be events, too. A hit takes some 10 ns, and its event
     * ten times as much; the counters have the number of hits without events. Called once, when the
     * listener is registered.
     */
    default boolean wantsMemoryHits() {
        return false;
    }

    /**
     * Called for each event. A later version may have further kinds: a listener of some kinds
     * should ignore all others.
     */
    void onEvent(GranaryEvent event);

    /**
     * Listener for the publications of one Granary. It receives one result for each entry that this
     * instance compiled or published, on a thread of the background, and at the latest when the
     * cache is closed. An exception is logged.
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
}
