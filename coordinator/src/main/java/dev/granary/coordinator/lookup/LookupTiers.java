package dev.granary.coordinator.lookup;

import dev.granary.cache.Engine;
import dev.granary.cache.Primitive;
import dev.granary.cache.PrimitiveDescriptor;
import dev.granary.coordinator.claim.ClaimCoordinator;
import dev.granary.coordinator.config.GranaryConfig;
import dev.granary.coordinator.dispatch.EventDispatcher;
import dev.granary.coordinator.layer.RemoteLayers;
import dev.granary.coordinator.publish.WriteBehindQueue;
import dev.granary.coordinator.session.RestoreQuarantine;
import dev.granary.coordinator.statistics.LookupCounters;
import dev.granary.coordinator.stores.CountingCache;
import dev.granary.coordinator.stores.OpenStores;

import java.util.Optional;

/**
 * The tiers below the memory tier, and the other objects that lookups share. Thread-safe.
 *
 * @param local the local tier
 * @param layers the buckets and plugged caches
 * @param quarantine the quarantine of entries; empty if the local directory cannot be written
 * @param coordinator the claims of this machine; empty if lookups do not wait for other processes
 * @param writeBehind the queue of the work after a lookup
 * @param counters the counters of lookups
 * @param events the receivers of events
 * @param enabled the engines whose lookups go beyond memory
 */
public record LookupTiers(
        CountingCache local,
        RemoteLayers layers,
        Optional<RestoreQuarantine> quarantine,
        Optional<ClaimCoordinator> coordinator,
        WriteBehindQueue writeBehind,
        LookupCounters counters,
        EventDispatcher events,
        EngineSwitch enabled) {
    /** Returns the tiers of these stores, with the configured claims and engines. */
    public static LookupTiers over(
            GranaryConfig config,
            OpenStores stores,
            RemoteLayers layers,
            WriteBehindQueue writeBehind,
            LookupCounters counters,
            EventDispatcher events) {
        return new LookupTiers(
                stores.local(),
                layers,
                stores.quarantine(),
                stores.claims()
                        .map(claims -> ClaimCoordinator.over(
                                claims, config.localWait(), counters, events)),
                writeBehind,
                counters,
                events,
                new EngineSwitch(config.enabled()));
    }

    /** Returns a lookup that has not begun. */
    public <D extends PrimitiveDescriptor, P extends Primitive> PrimitiveLookup<D, P> lookup(
            Engine<D, P> engine, D descriptor) {
        return new PrimitiveLookup<>(this, engine, descriptor, PrimitiveLookup.Step.LAST);
    }
}
