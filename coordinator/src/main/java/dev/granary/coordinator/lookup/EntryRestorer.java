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
import dev.granary.coordinator.session.SlowRestores;
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
 * Restorer of the entries of one lookup: quarantine, check of the container, then the driver. An entry that cannot be used is discarded from its tier. One of another namespace stays
 * there: its own engines may use it. Used by one thread.
 */
final class EntryRestorer<D extends PrimitiveDescriptor, P extends Primitive> {
    private final LookupTiers tiers;
    private final Engine<D, P> engine;
    private final D descriptor;
    private long start;
    private boolean isSlow; // the restore under way
    private boolean hasLeftSlow; // a slow entry, for a compile
    private boolean takesSlow;
    // Rejections of entries without a required kernel, and of slow ones. They are due after
    // compiling: if the source lacks the kernel too, the entry is sound, and other descriptors with
    // this id use it.
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
        if (!takesSlow
                && slowRestores(entry).filter(slow -> slow.isConfirmed(entry)).isPresent()) {
            hasLeftSlow = true;
            renewSlow(entry, tier, span);
            return Optional.empty();
        }
        try (RestoreQuarantine.Restore _ = beginRestore(entry)) {
            P primitive = createTimed(entry);
            span.stop();
            tiers.counters()
                    .add(
                            LookupCounter.TIME_SAVED,
                            Math.max(
                                    0,
                                    CompileTimeEstimate.stated(entry)
                                            - (System.nanoTime() - start)));
            RestoreEvent.Outcome outcome =
                    isSlow || primitive.origin() == Primitive.Origin.RECOMPILED
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

    /** Discards the entries that lack a kernel which the source has, and gives up slow ones. */
    void rejectIncomplete() {
        rejections.forEach(Runnable::run);
    }

    /**
     * Makes the next search restore slow entries, since the source does not compile here.
     *
     * @return false if no slow entry was left
     */
    boolean takeSlow() {
        takesSlow = hasLeftSlow;
        return hasLeftSlow;
    }

    /**
     * Creates the primitive, and records how long that took. The processor time is measured only
     * for an entry that was slow before: measuring it loads classes.
     */
    private P createTimed(Entry entry) throws RestoreException {
        isSlow = false;
        SlowRestores slow = slowRestores(entry).orElse(null);
        if (slow == null) {
            return create(entry);
        }
        if (!slow.isSuspected(entry)) {
            long createStart = System.nanoTime();
            P primitive = create(entry);
            if (primitive.origin() == Primitive.Origin.RESTORED) {
                slow.took(entry, Duration.ofNanos(System.nanoTime() - createStart));
            }
            return primitive;
        }
        Optional<Duration> before = ThreadProcessorTime.now();
        P primitive = create(entry);
        Optional<Duration> after = ThreadProcessorTime.now();
        if (primitive.origin() == Primitive.Origin.RESTORED
                && before.isPresent()
                && after.isPresent()) {
            isSlow = slow.tookProcessorTime(entry, after.get().minus(before.get()));
            if (isSlow) {
                tiers.counters().increment(LookupCounter.RECOMPILED_BY_DRIVER);
            }
        }
        return primitive;
    }

    /** Returns the record of slow restores, which has entries of the own namespace. */
    private Optional<SlowRestores> slowRestores(Entry entry) {
        return isOwn(entry)
                ? tiers.quarantine().map(RestoreQuarantine::slowRestores)
                : Optional.empty();
    }

    /** Leaves the entry, so that the source is compiled; afterwards it counts as replaced. */
    private void renewSlow(Entry entry, String tier, EventSpan span) {
        tiers.counters().increment(LookupCounter.SLOW_RESTORES);
        span.end(_ ->
                event(entry, tier, RestoreEvent.Outcome.SLOW, Optional.empty(), Duration.ZERO));
        LogOnce.warn(
                "slow-restore",
                "The driver compiles a stored binary again in each restore; it is compiled once"
                        + " for a fresh one: "
                        + entry.id().hash().hex());
        rejections.add(() -> slowRestores(entry).ifPresent(slow -> slow.replaced(entry)));
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
        span.end(_ -> event(entry, tier, RestoreEvent.Outcome.QUARANTINED, Optional.empty(), Duration.ZERO));
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
