package dev.granary.coordinator.lookup;

import dev.granary.cache.BinaryKind;
import dev.granary.cache.CompileException;
import dev.granary.cache.Engine;
import dev.granary.cache.Entry;
import dev.granary.cache.Id;
import dev.granary.cache.LoadResult;
import dev.granary.cache.Primitive;
import dev.granary.cache.PrimitiveDescriptor;
import dev.granary.cache.RestoreException;
import dev.granary.cache.build.StackReserve;
import dev.granary.cache.support.LogOnce;
import dev.granary.coordinator.claim.ClaimCoordinator;
import dev.granary.coordinator.claim.CompileClaim;
import dev.granary.coordinator.dispatch.EventDispatcher;
import dev.granary.coordinator.dispatch.EventKind;
import dev.granary.coordinator.dispatch.EventSpan;
import dev.granary.coordinator.event.CompileEvent;
import dev.granary.coordinator.event.LookupEvent;
import dev.granary.coordinator.event.RestoreEvent;
import dev.granary.coordinator.layer.RemoteLayer;
import dev.granary.coordinator.publish.WriteBehindQueue;
import dev.granary.coordinator.session.RestoreQuarantine;
import dev.granary.coordinator.statistics.LookupCounter;
import dev.granary.coordinator.statistics.PrimitiveSource;
import dev.granary.coordinator.toml.SafeText;
import dev.granary.gpu.binary.BinaryCompatibility;
import dev.granary.gpu.binary.CompatibilityChecker;

import org.jspecify.annotations.Nullable;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.function.Consumer;

/**
 * One lookup below the memory tier, in four steps:
 *
 * <ol>
 *   <li>Local tier: its entry is restored.
 *   <li>Claim of this machine, after a miss. While another process has the claim, step 1 is
 *       repeated.
 *   <li>Each {@link RemoteLayer} in order: its entry is restored.
 *   <li>{@link Engine#create(PrimitiveDescriptor)} compiles.
 * </ol>
 *
 * <p>{@link WriteBehindQueue} then stores the entry if the local tier lacks it. Each of the first
 * three steps may fail, and a failure is a miss. The lookup has the claim until write-behind
 * receives it with the primitive; if the lookup fails, it closes the claim. Used once, by one
 * thread.
 */
public final class PrimitiveLookup<D extends PrimitiveDescriptor, P extends Primitive> {
    private final LookupTiers tiers;
    private final Engine<D, P> engine;
    private final D descriptor;
    private long start;
    private CompileClaim claim = CompileClaim.NONE;
    // all loads of the local tier are counted as one result: the hit, else the first
    private @Nullable LoadResult localResult;
    private long localNanos;
    private @Nullable EventSpan localSpan; // of the load that is counted
    private PrimitiveSource source = PrimitiveSource.MEMORY;
    private OptionalInt layer = OptionalInt.empty();
    private Optional<String> layerName = Optional.empty();
    private long restoredBytes;
    private boolean isFound;
    private boolean isCached; // beyond memory
    // Rejections of entries without a required kernel. They are due after compiling: if the source
    // lacks the kernel too, the entry is sound, and other descriptors with this id use it.
    private final List<Runnable> rejections = new ArrayList<>();

    PrimitiveLookup(LookupTiers tiers, Engine<D, P> engine, D descriptor) {
        this.tiers = tiers;
        this.engine = engine;
        this.descriptor = descriptor;
    }

    /**
     * Returns the primitive.
     *
     * @throws CompileException if no tier had the primitive and its source does not compile
     */
    public P find() throws CompileException {
        // else a stack overflow could leave claims, quarantine marks and locks of the stores behind
        StackReserve.require();
        EventSpan span = tiers.events().begin(EventKind.LOOKUP);
        try {
            P primitive = search(descriptor.getId());
            isFound = true;
            return primitive;
        } finally {
            span.end(took -> new LookupEvent(
                    EventDispatcher.digest(descriptor.getId()),
                    engine.target(),
                    isFound ? Optional.of(source) : Optional.empty(),
                    layerName,
                    restoredBytes,
                    took));
        }
    }

    private P search(Id id) throws CompileException {
        if (id.isEmpty()) {
            tiers.counters().increment(LookupCounter.NOT_CACHEABLE);
            return compile();
        }
        isCached = tiers.enabled().isOn(engine);
        if (!isCached) {
            tiers.counters().increment(LookupCounter.DISABLED);
            return compile();
        }
        start = System.nanoTime();
        try {
            // 1 local tier, 2 claim
            Optional<P> restored = loadOrClaim(id).flatMap(this::restoreLocal);
            if (restored.isEmpty()) {
                // 3 layers. Without a claim if step 1 had an entry: others would wait for one that
                // this machine cannot use.
                restored = tiers.layers().search(id, this::restoreFromBucket);
            }
            // 4 compiler
            return restored.isPresent() ? restored.get() : compile();
        } catch (Throwable e) {
            claim.close();
            throw e;
        }
    }

    /** Returns the source of the primitive; the memory tier if the lookup has not begun. */
    public PrimitiveSource source() {
        return source;
    }

    /** Returns the position of the bucket, counted from 0; empty unless the source is a bucket. */
    public OptionalInt layer() {
        return layer;
    }

    /**
     * Steps 1 and 2: returns the entry of the local tier, after a wait for it if another process
     * has the claim. Else the lookup has the claim afterwards, if it can be acquired.
     */
    private Optional<Entry> loadOrClaim(Id id) {
        ClaimCoordinator.Outcome outcome =
                switch (loadLocal(id)) {
                    case LoadResult.Hit(Entry entry) -> new ClaimCoordinator.Outcome.Stored(entry);
                    case LoadResult.Absent _, LoadResult.Damaged _ ->
                        tiers.coordinator().isPresent()
                                ? tiers.coordinator().get().claim(id, () -> loadLocal(id))
                                : new ClaimCoordinator.Outcome.Unclaimed();
                    // an entry of another process could not be read either
                    case LoadResult.Unavailable _ -> new ClaimCoordinator.Outcome.Unclaimed();
                };
        if (outcome instanceof ClaimCoordinator.Outcome.Claimed(CompileClaim acquired)) {
            claim = acquired;
        }
        countLocal(id);
        return outcome instanceof ClaimCoordinator.Outcome.Stored(Entry entry)
                ? Optional.of(entry)
                : Optional.empty();
    }

    private LoadResult loadLocal(Id id) {
        EventSpan span = tiers.local().beginLoad();
        long loadStart = System.nanoTime();
        LoadResult latest = tiers.local().cache().load(id);
        localNanos += System.nanoTime() - loadStart;
        if (localResult == null || latest instanceof LoadResult.Hit) {
            localResult = latest;
            localSpan = span;
            span.stop();
        }
        return latest;
    }

    private void countLocal(Id id) {
        if (localResult != null && localSpan != null) {
            tiers.local().count(id, localResult, localNanos, localSpan);
        }
    }

    /**
     * Restores an entry of the local tier; empty if it is in quarantine or the driver rejects it.
     */
    private Optional<P> restoreLocal(Entry entry) {
        Optional<P> restored =
                restore(entry, tiers.local().name(), tiers.local().cache()::discard);
        restored.ifPresent(primitive -> {
            tiers.layers().compileTimes().observe(entry.compileTime().toNanos());
            if (primitive.origin() == Primitive.Origin.RECOMPILED) {
                recompiled(primitive, entry);
            }
            source = PrimitiveSource.LOCAL;
        });
        return restored;
    }

    /**
     * Step 3: restores an entry of a layer; empty if it is in quarantine or the driver rejects it.
     */
    private Optional<P> restoreFromBucket(Entry entry, RemoteLayer bucket) {
        Optional<P> restored = restore(entry, bucket.name(), bucket::refused);
        restored.ifPresent(primitive -> {
            bucket.used(entry);
            if (primitive.origin() == Primitive.Origin.RECOMPILED) {
                recompiled(primitive, entry);
            } else {
                tiers.writeBehind().fill(entry, bucket, claim);
            }
            source = PrimitiveSource.BUCKET;
            layer = OptionalInt.of(bucket.position());
            layerName = Optional.of(bucket.name());
        });
        return restored;
    }

    private void recompiled(P primitive, Entry entry) {
        tiers.counters().increment(LookupCounter.RECOMPILED_BY_DRIVER);
        tiers.writeBehind().recompiled(primitive, entry.compileTime(), claim);
    }

    private Optional<P> restore(Entry entry, String tier, Consumer<Entry> discard) {
        EventSpan span = tiers.events().begin(EventKind.RESTORE);
        if (tiers.quarantine().isPresent() && tiers.quarantine().get().contains(entry)) {
            quarantined(entry, tier, Optional.empty(), span);
            return Optional.empty();
        }
        if (CompatibilityChecker.check(engine.target(), entry.binaries())
                instanceof BinaryCompatibility.Incompatible(String reason)) {
            rejectIncompatible(entry, tier, reason, span, discard);
            return Optional.empty();
        }
        Optional<String> problem =
                tiers.trials().flatMap(trials -> trials.problem(entry, engine.target()));
        if (problem.isPresent()) {
            quarantined(entry, tier, problem, span);
            return Optional.empty();
        }
        try (RestoreQuarantine.Restore _ = beginRestore(entry)) {
            P primitive = engine.create(descriptor, entry.binaries(), BinaryKind.KERNEL);
            span.stop();
            tiers.counters()
                    .add(
                            LookupCounter.TIME_SAVED,
                            Math.max(
                                    0,
                                    entry.compileTime().toNanos() - (System.nanoTime() - start)));
            restoredBytes = entry.binaries().byteSize();
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

    private void quarantined(Entry entry, String tier, Optional<String> cause, EventSpan span) {
        tiers.counters().increment(LookupCounter.QUARANTINED);
        span.end(_ -> event(entry, tier, RestoreEvent.Outcome.QUARANTINED, cause, Duration.ZERO));
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
        discard.accept(entry);
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
        discard.accept(entry);
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

    private RestoreQuarantine.@Nullable Restore beginRestore(Entry entry) {
        return tiers.quarantine().isPresent() ? tiers.quarantine().get().begin(entry) : null;
    }

    /** Step 4. */
    private P compile() throws CompileException {
        EventSpan span = tiers.events().begin(EventKind.COMPILE);
        long compileStart = System.nanoTime();
        try {
            P primitive = engine.create(descriptor);
            span.stop();
            rejections.forEach(Runnable::run);
            tiers.counters().increment(LookupCounter.COMPILED);
            long took = System.nanoTime() - compileStart;
            tiers.counters().add(LookupCounter.COMPILE_TIME, took);
            span.end(_ -> event(Optional.empty(), Duration.ofNanos(took)));
            if (isCached) {
                tiers.layers()
                        .compileTimes()
                        .compiled(Math.max(took, primitive.compileTime().toNanos()));
                tiers.writeBehind().compiled(primitive, took, claim);
            }
            source = PrimitiveSource.COMPILED;
            return primitive;
        } catch (CompileException e) {
            tiers.counters().increment(LookupCounter.COMPILE_FAILURES);
            span.end(took ->
                    event(Optional.of(SafeText.inOneLine(String.valueOf(e.getMessage()))), took));
            throw e;
        }
    }

    private CompileEvent event(Optional<String> failure, Duration took) {
        return new CompileEvent(
                EventDispatcher.digest(descriptor.getId()), engine.target(), failure, took);
    }
}
