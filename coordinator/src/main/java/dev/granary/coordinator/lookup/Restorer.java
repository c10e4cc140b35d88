package dev.granary.coordinator.lookup;

import dev.granary.cache.BinaryKind;
import dev.granary.cache.Engine;
import dev.granary.cache.Entry;
import dev.granary.cache.Primitive;
import dev.granary.cache.PrimitiveDescriptor;
import dev.granary.cache.RestoreException;
import dev.granary.cache.support.Warnings;
import dev.granary.coordinator.event.GranaryEvent;
import dev.granary.coordinator.event.GranaryEvent.Restore.Outcome;
import dev.granary.coordinator.machine.RestoreQuarantine;
import dev.granary.coordinator.observe.Counters;
import dev.granary.coordinator.observe.EventDispatcher;
import dev.granary.coordinator.observe.EventDispatcher.Span;
import dev.granary.coordinator.observe.EventKind;
import dev.granary.coordinator.statistics.Counter;
import dev.granary.coordinator.tier.CompileTimes;
import dev.granary.coordinator.tier.Found;
import dev.granary.coordinator.toml.SafeText;
import dev.granary.gpu.binary.compatibility.BinaryCompatibility;
import dev.granary.gpu.binary.compatibility.CompatibilityChecker;

import java.time.Duration;
import java.util.Optional;

/**
 * Restorer of the entries of one lookup: quarantine, check of the container, then the driver. An
 * entry that cannot be used is discarded from its tier, unless it is of another namespace, whose
 * engines may use it. Used by one thread.
 *
 * @param start the {@code System.nanoTime()} from which the time of a hit counts
 */
record Restorer<D extends PrimitiveDescriptor, P extends Primitive>(
        LookupContext context, Engine<D, P> engine, D descriptor, Lookup.Step step, long start) {
    /**
     * Restores an entry; empty if it is in quarantine, is for another device, or the driver rejects
     * it. One that lacks a required kernel is not discarded: if the source has the kernel, the
     * compiled entry replaces it; else it is sound, and other descriptors with this id use it.
     */
    Optional<Found<P>> restore(Found.Stored stored) {
        Span span = context.events().begin(EventKind.RESTORE);
        Entry entry = stored.entry();
        if (context.isInQuarantine().test(entry)) { // it stays: after its time it is tried again
            context.counters().increment(Counter.RESTORES_QUARANTINED);
            end(span, stored, Outcome.QUARANTINED, Optional.empty());
            return Optional.empty();
        }
        if (CompatibilityChecker.check(engine.target(), entry.binaries())
                instanceof BinaryCompatibility.Incompatible(String reason)) {
            reject(stored, Outcome.INCOMPATIBLE, Counter.RESTORES_INCOMPATIBLE, reason, span);
            discard(stored);
            return Optional.empty();
        }
        try (RestoreQuarantine.Restore _ = context.beginRestore().apply(entry)) {
            P primitive = create(entry);
            Found<P> found = new Found<>(primitive, Optional.of(stored));
            count(found);
            end(
                    span,
                    stored,
                    primitive.origin() == Primitive.Origin.RECOMPILED
                            ? Outcome.RECOMPILED
                            : Outcome.RESTORED,
                    Optional.empty());
            return Optional.of(found);
        } catch (RestoreException e) {
            String reason = SafeText.inOneLine(String.valueOf(e.getMessage()));
            reject(stored, Outcome.REFUSED, Counter.RESTORES_REFUSED, reason, span);
            if (!e.isMissingKernel()) {
                discard(stored);
            }
            return Optional.empty();
        } catch (RuntimeException | Error e) { // a broken engine
            end(span, stored, Outcome.FAILED, Optional.of(SafeText.inOneLine(e.toString())));
            throw e;
        }
    }

    private P create(Entry entry) throws RestoreException {
        return isOwn(entry)
                ? engine.create(descriptor, entry.binaries(), BinaryKind.KERNEL)
                : engine.create(descriptor, entry.binaries(), entry.id().target());
    }

    private boolean isOwn(Entry entry) {
        return entry.id().target().equals(descriptor.getId().target());
    }

    /** Counts a restored entry, with the compile time that it has saved. */
    private void count(Found<P> found) {
        Found.Stored stored = found.origin().orElseThrow();
        Counters counters = context.counters();
        long saved = CompileTimes.stated(stored.entry()) - (System.nanoTime() - start);
        counters.add(Counter.SAVED_TIME, Math.max(0, saved));
        if (step == Lookup.Step.EARLIER) {
            counters.increment(Counter.INTERMEDIATE_HITS);
        }
        if (found.primitive().origin() == Primitive.Origin.RECOMPILED) {
            counters.increment(Counter.RESTORES_RECOMPILED);
        }
        if (!isOwn(stored.entry())) {
            counters.increment(Counter.CROSS_NAMESPACE);
        }
        context.tiers().compileTimes().observe(stored.entry());
        stored.tier().used(stored.entry());
    }

    private void reject(
            Found.Stored stored, Outcome outcome, Counter counter, String reason, Span span) {
        context.counters().increment(counter);
        end(span, stored, outcome, Optional.of(reason));
        Warnings.warn(
                outcome.toString(),
                (outcome == Outcome.REFUSED
                                ? "The driver rejected a stored binary"
                                : "A stored binary cannot be for this device")
                        + "; the lookup compiles: " + reason);
    }

    private void discard(Found.Stored stored) {
        if (isOwn(stored.entry())) {
            stored.tier().discard(stored.entry());
        }
    }

    private static void end(
            Span span, Found.Stored stored, Outcome outcome, Optional<String> cause) {
        if (!span.isObserved()) {
            return;
        }
        boolean isCalled = outcome != Outcome.QUARANTINED && outcome != Outcome.INCOMPATIBLE;
        span.end(took -> new GranaryEvent.Restore(
                EventDispatcher.digest(stored.entry().id()),
                stored.tier().name(),
                outcome,
                cause,
                stored.entry().binaries().byteSize(),
                isCalled ? took : Duration.ZERO));
    }
}
