package dev.granary.coordinator.lookup;

import dev.granary.cache.Engine;
import dev.granary.cache.Entry;
import dev.granary.cache.Id;
import dev.granary.cache.LoadResult;
import dev.granary.coordinator.machine.MachineClaims;
import dev.granary.coordinator.machine.RestoreQuarantine;
import dev.granary.coordinator.observe.Counters;
import dev.granary.coordinator.observe.EventDispatcher;
import dev.granary.coordinator.publish.WriteBehindQueue;
import dev.granary.coordinator.tier.CountedTier;
import dev.granary.coordinator.tier.Tiers;

import java.util.Optional;
import java.util.function.BiFunction;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.Predicate;
import java.util.function.Supplier;

/**
 * The tiers below the memory tier, and the other objects that lookups share. Thread-safe.
 *
 * @param isInQuarantine whether an entry must not be restored
 * @param beginRestore begins a restore, as {@link RestoreQuarantine#begin} does
 * @param claims claims an id, as {@link MachineClaims#claim} does
 * @param fleet the claims between machines; empty without a layer for them
 * @param writeBehind the work after a lookup; empty if nothing is stored
 * @param isEnabled whether lookups of an engine go beyond memory
 * @param used receives the id of each primitive that was found or compiled
 */
public record LookupContext(
        Tiers tiers,
        Predicate<Entry> isInQuarantine,
        Function<Entry, RestoreQuarantine.Restore> beginRestore,
        BiFunction<Id, Supplier<LoadResult>, MachineClaims.Outcome> claims,
        Optional<FleetClaims> fleet,
        Optional<WriteBehindQueue> writeBehind,
        Counters counters,
        EventDispatcher events,
        Predicate<Engine<?, ?>> isEnabled,
        Consumer<Id> used) {
    CountedTier local() {
        return tiers.local();
    }
}
