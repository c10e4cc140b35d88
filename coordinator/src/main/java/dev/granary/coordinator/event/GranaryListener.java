package dev.granary.coordinator.event;

import dev.granary.cache.Id;
import dev.granary.cache.StoreResult;

/**
 * Listener of the events of one Granary; {@code Granary.builder().listener(...)} registers it.
 *
 * <p>A listener overrides the methods of the events it is for, or {@link #onEvent} for all of them.
 * All methods are called by one thread of the listener, in the order of the events. A slow listener
 * delays no lookup: up to 8,192 events wait for it, and further ones are dropped and counted as
 * {@code events-dropped}. If a method throws, the first exception is logged, and the next event is
 * delivered as usual. {@code Granary.close()} waits for the delivery at most the configured flush
 * limit, then interrupts the listener and drops the rest.
 */
public interface GranaryListener {
    /**
     * Returns true if {@link #onLookup} is to be called for hits in memory, too. A hit takes some
     * 10 ns, and its event ten times as much; the counters have the number of hits without events.
     * Called once, when the listener is registered.
     */
    default boolean wantsMemoryHits() {
        return false;
    }

    /** Called for each event; calls the method of its kind, all of which do nothing by default. */
    default void onEvent(GranaryEvent event) {
        switch (event) {
            case GranaryEvent.Lookup lookup -> onLookup(lookup);
            case GranaryEvent.Load load -> onLoad(load);
            case GranaryEvent.Restore restore -> onRestore(restore);
            case GranaryEvent.Wait wait -> onWait(wait);
            case GranaryEvent.Compile compile -> onCompile(compile);
            case GranaryEvent.Store store -> onStore(store);
            case GranaryEvent.Upload upload -> onUpload(upload);
            case GranaryEvent.Eviction eviction -> onEviction(eviction);
        }
    }

    /** Called after each lookup below the memory tier, and if wanted, after each in memory. */
    default void onLookup(GranaryEvent.Lookup event) {}

    /** Called after a lookup in the local tier or in a layer. */
    default void onLoad(GranaryEvent.Load event) {}

    /** Called after an attempt to restore a stored entry, even if the driver was not called. */
    default void onRestore(GranaryEvent.Restore event) {}

    /** Called after a wait for another process of the machine. */
    default void onWait(GranaryEvent.Wait event) {}

    /** Called after a compile, successful or not. */
    default void onCompile(GranaryEvent.Compile event) {}

    /** Called after a store in the local tier. */
    default void onStore(GranaryEvent.Store event) {}

    /** Called after a store in a layer. */
    default void onUpload(GranaryEvent.Upload event) {}

    /** Called after an eviction from the local directory or the memory tier by this process. */
    default void onEviction(GranaryEvent.Eviction event) {}

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
