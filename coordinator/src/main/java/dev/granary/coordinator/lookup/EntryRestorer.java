package dev.granary.coordinator.lookup;

import dev.granary.cache.BinaryKind;
import dev.granary.cache.Engine;
import dev.granary.cache.Entry;
import dev.granary.cache.Primitive;
import dev.granary.cache.PrimitiveDescriptor;
import dev.granary.cache.RestoreException;
import dev.granary.cache.support.LogOnce;
import dev.granary.coordinator.dispatch.EventDispatcher;
import dev.granary.coordinator.dispatch.EventKind;
import dev.granary.coordinator.dispatch.EventSpan;
import dev.granary.coordinator.event.RestoreEvent;
import dev.granary.coordinator.layer.CompileTimeEstimate;
import dev.granary.coordinator.session.RestoreQuarantine;
import dev.granary.coordinator.statistics.LookupCounter;
import dev.granary.coordinator.toml.SafeText;
import dev.granary.gpu.binary.compatibility.BinaryCompatibility;
import dev.granary.gpu.binary.compatibility.CompatibilityChecker;

import org.jspecify.annotations.Nullable;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.Consumer;

/**
 * Restorer of the entries of one lookup: quarantine, check of the container, then the driver. An
 * entry that cannot be used is discarded from its tier. One of another namespace stays there: its
 * own engines may use it. Used by one thread.
 */
final class EntryRestorer<D extends PrimitiveDescriptor, P extends Primitive> {
    private final LookupTiers tiers;
    private final Engine<D, P> engine;
    private final D descriptor;
    private long start;
    // Rejections of entries without a required kernel. They are due after compiling: if the source
    // lacks the kernel too, the entry is sound, and other descriptors with this id use it.
    private final List<Runnable> rejections = new ArrayList<>();

    EntryRestorer(LookupTiers tiers, Engine<D, P> engine, D descriptor) {
        this.tiers = tiers;
        this.engine = engine;
        this.descriptor = descriptor;
    }

    /** Begins the time that a hit takes. */
    void begin() {
        start = System.nanoTime();
    }

    /**
     * Restores an entry; empty if it is in quarantine, is for another device, or the driver rejects
     * it.
     *
     * @param discard removes the entry from its tier
     */
    Optional<P> restore(Entry entry, String tier, Consumer<Entry> discard) {
        EventSpan span = tiers.events().begin(EventKind.RESTORE);
        if (tiers.quarantine().isPresent() && tiers.quarantine().get().contains(entry)) {
            quarantined(entry, tier, span);
            return Optional.empty();
        }
        if (CompatibilityChecker.check(engine.target(), entry.binaries())
                instanceof BinaryCompatibility.Incompatible(String reason)) {
            rejectIncompatible(entry, tier, reason, span, discard);
            return Optional.empty();
        }
        try (RestoreQuarantine.Restore _ = beginRestore(entry)) {
            P primitive = create(entry);
            span.stop();
            tiers.counters()
                    .add(
                            LookupCounter.TIME_SAVED,
                            Math.max(
                                    0,
                                    CompileTimeEstimate.stated(entry)
                                            - (System.nanoTime() - start)));
            RestoreEvent.Outcome outcome = primitive.origin() == Primitive.Origin.RECOMPILED
                    ? RestoreEvent.Outcome.RECOMPILED
                    : RestoreEvent.Outcome.RESTORED;
            span.end(took -> event(entry, tier, outcome, Optional.empty(), took));
            return Optional.of(primitive);
        } catch (RestoreException e) {
            span.stop();
            if (e.isMissingKernel()) {
                rejections.add(() -> reject(entry, tier, e, span, discard));
            } else {
                reject(entry, tier, e, span, discard);
            }
            return Optional.empty();
        }
    }

    /** Discards the entries that lack a kernel which the source has. */
    void rejectIncomplete() {
        rejections.forEach(Runnable::run);
    }

    private P create(Entry entry) throws RestoreException {
        return isOwn(entry)
                ? engine.create(descriptor, entry.binaries(), BinaryKind.KERNEL)
                : engine.create(descriptor, entry.binaries(), entry.id().target());
    }

    private boolean isOwn(Entry entry) {
        return entry.id().target().equals(descriptor.getId().target());
    }

    private RestoreQuarantine.@Nullable Restore beginRestore(Entry entry) {
        return tiers.quarantine().isPresent() ? tiers.quarantine().get().begin(entry) : null;
    }

    private void quarantined(Entry entry, String tier, EventSpan span) {
        tiers.counters().increment(LookupCounter.QUARANTINED);
        span.end(_ -> event(
                entry, tier, RestoreEvent.Outcome.QUARANTINED, Optional.empty(), Duration.ZERO));
    }

    private void rejectIncompatible(
            Entry entry, String tier, String reason, EventSpan span, Consumer<Entry> discard) {
        tiers.counters().increment(LookupCounter.INCOMPATIBLE);
        span.end(_ -> event(
                entry,
                tier,
                RestoreEvent.Outcome.INCOMPATIBLE,
                Optional.of(reason),
                Duration.ZERO));
        LogOnce.warn(
                "incompatible",
                "A stored binary cannot be for this device; it is discarded and compiled again: "
                        + reason);
        discardOwn(entry, discard);
    }

    private void reject(
            Entry entry,
            String tier,
            RestoreException cause,
            EventSpan span,
            Consumer<Entry> discard) {
        tiers.counters().increment(LookupCounter.REFUSED_BY_DRIVER);
        span.end(took -> event(
                entry,
                tier,
                RestoreEvent.Outcome.REFUSED,
                Optional.of(SafeText.inOneLine(String.valueOf(cause.getMessage()))),
                took));
        LogOnce.warn(
                "restore",
                "The driver rejected a stored binary, which is discarded and compiled again: "
                        + cause.getMessage());
        discardOwn(entry, discard);
    }

    private void discardOwn(Entry entry, Consumer<Entry> discard) {
        if (isOwn(entry)) {
            discard.accept(entry);
        }
    }

    private static RestoreEvent event(
            Entry entry,
            String tier,
            RestoreEvent.Outcome outcome,
            Optional<String> cause,
            Duration took) {
        return new RestoreEvent(
                EventDispatcher.digest(entry.id()),
                tier,
                outcome,
                cause,
                entry.binaries().byteSize(),
                took);
    }
}
