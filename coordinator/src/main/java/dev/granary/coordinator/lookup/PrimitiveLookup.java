package dev.granary.coordinator.lookup;

import dev.granary.cache.BinaryKind;
import dev.granary.cache.CompileException;
import dev.granary.cache.Engine;
import dev.granary.cache.Entry;
import dev.granary.cache.Id;
import dev.granary.cache.LoadResult;
import dev.granary.cache.Primitive;
import dev.granary.cache.PrimitiveDescriptor;
import dev.granary.cache.Target;
import dev.granary.coordinator.claim.ClaimCoordinator;
import dev.granary.coordinator.claim.CompileClaim;
import dev.granary.coordinator.dispatch.EventDispatcher;
import dev.granary.coordinator.dispatch.EventKind;
import dev.granary.coordinator.dispatch.EventSpan;
import dev.granary.coordinator.event.LookupEvent;
import dev.granary.coordinator.layer.RemoteLayer;
import dev.granary.coordinator.publish.WriteBehindQueue;
import dev.granary.coordinator.statistics.LookupCounter;
import dev.granary.coordinator.statistics.PrimitiveSource;

import org.jspecify.annotations.Nullable;

import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.function.Consumer;

/**
 * One lookup below the memory tier, in four steps:
 *
 * <ol>
 *   <li>{@link LocalLoader}: the entry of the local tier is restored. Without one, that of another
 *       namespace is restored, which the engine reads: a cross-namespace hit.
 *   <li>Claim of this machine, after a miss. While another process has the claim, step 1 is
 *       repeated.
 *   <li>Each {@link RemoteLayer} in order, with the namespaces in the same order: its entry is
 *       restored.
 *   <li>{@link PrimitiveCompiler}: the engine compiles.
 * </ol>
 *
 * <p>{@link EntryRestorer} restores entries. {@link WriteBehindQueue} then stores the entry if the
 * local tier lacks it. Each of the first three steps may fail, and a failure is a miss. The lookup
 * has the claim until write-behind receives it with the primitive; if the lookup fails, it closes
 * the claim. Used once, by one thread.
 */
public final class PrimitiveLookup<D extends PrimitiveDescriptor, P extends Primitive> {
    private final LookupTiers tiers;
    private final Engine<D, P> engine;
    private final D descriptor;
    private final Step step;
    private final LocalLoader local;
    private final EntryRestorer<D, P> restorer;
    private CompileClaim claim = CompileClaim.NONE;
    private PrimitiveSource source = PrimitiveSource.MEMORY;
    private OptionalInt layer = OptionalInt.empty();
    private Optional<String> layerName = Optional.empty();
    private long restoredBytes;
    private boolean isFound;
    private Optional<Target> from = Optional.empty();
    private @Nullable List<Id> namespaceIds; // computed after the first miss
    private Optional<StoredStep> stored = Optional.empty();
    private Runnable beforeLayers = () -> {};

    /** The place of a lookup in a compile of several steps. */
    enum Step {
        /** The lookup of a caller. */
        LAST,
        /** A lookup within the compile of another one, which counts time and failures. */
        EARLIER
    }

    /**
     * The entry that a lookup has restored, in its tier.
     *
     * @param discard removes the entry from the tier
     */
    record StoredStep(Entry entry, Consumer<Entry> discard) {}

    PrimitiveLookup(LookupTiers tiers, Engine<D, P> engine, D descriptor, Step step) {
        this.tiers = tiers;
        this.step = step;
        this.engine = engine;
        this.descriptor = descriptor;
        this.local = new LocalLoader(tiers.local());
        this.restorer = new EntryRestorer<>(tiers, engine, descriptor);
    }

    /** Adds an action that runs once if the local tier has no usable entry, before step 3. */
    public void beforeLayers(Runnable action) {
        beforeLayers = action;
    }

    /**
     * Returns the primitive.
     *
     * @throws CompileException if no tier had the primitive and its source does not compile
     */
    public P find() throws CompileException {
        EventSpan span = tiers.events().begin(EventKind.LOOKUP);
        try {
            source = PrimitiveSource.COMPILED; // unless an entry is restored
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
            return compileUncached(LookupCounter.NOT_CACHEABLE);
        }
        if (!tiers.enabled().isOn(engine)) {
            return compileUncached(LookupCounter.DISABLED);
        }
        restorer.begin();
        try {
            // 1 local tier, 2 claim
            Optional<P> restored = loadOrClaim(id).flatMap(this::restoreLocal);
            if (restored.isEmpty()) {
                // 3 layers. Without a claim if step 1 had an entry: others would wait for one that
                // this machine cannot use.
                beforeLayers.run();
                restored = tiers.layers().search(namespaceIds(id), this::restoreFromBucket);
            }
            // 4 compiler
            return restored.isPresent() ? restored.get() : compiler().compile(claim);
        } catch (Throwable e) {
            claim.close();
            throw e;
        }
    }

    /** Returns the source of the primitive; the memory tier if the lookup has not begun. */
    public PrimitiveSource source() {
        return source;
    }

    /** Returns the restored entry; empty if the primitive was compiled. */
    Optional<StoredStep> stored() {
        return stored;
    }

    /** Returns the position of the bucket, counted from 0; empty unless the source is a bucket. */
    public OptionalInt layer() {
        return layer;
    }

    /** Returns the target of the entry of a cross-namespace hit; empty for any other lookup. */
    public Optional<Target> from() {
        return from;
    }

    /**
     * Steps 1 and 2: returns the entry of the local tier, after a wait for it if another process
     * has the claim. Else the lookup has the claim afterwards, if it can be acquired.
     */
    private Optional<Entry> loadOrClaim(Id id) {
        ClaimCoordinator.Outcome outcome =
                switch (local.load(id)) {
                    case LoadResult.Hit(Entry entry) -> new ClaimCoordinator.Outcome.Stored(entry);
                    case LoadResult.Absent _, LoadResult.Damaged _ -> {
                        Optional<Entry> other = loadOther(id);
                        yield other.isPresent()
                                ? new ClaimCoordinator.Outcome.Stored(other.get())
                                : claim(id);
                    }
                    // an entry of another process could not be read either
                    case LoadResult.Unavailable _ -> new ClaimCoordinator.Outcome.Unclaimed();
                };
        if (outcome instanceof ClaimCoordinator.Outcome.Claimed(CompileClaim acquired)) {
            claim = acquired;
        }
        local.count(id);
        return outcome instanceof ClaimCoordinator.Outcome.Stored(Entry entry)
                ? Optional.of(entry)
                : Optional.empty();
    }

    private ClaimCoordinator.Outcome claim(Id id) {
        return tiers.coordinator().isPresent()
                ? tiers.coordinator().get().claim(id, () -> local.load(id))
                : new ClaimCoordinator.Outcome.Unclaimed();
    }

    /** Returns the entry of another namespace in the local tier. */
    private Optional<Entry> loadOther(Id id) {
        List<Id> ids = namespaceIds(id);
        for (Id other : ids.subList(1, ids.size())) {
            if (local.load(other) instanceof LoadResult.Hit(Entry entry)) {
                return Optional.of(entry);
            }
        }
        return Optional.empty();
    }

    private List<Id> namespaceIds(Id id) {
        List<Id> ids = namespaceIds;
        if (ids == null) {
            ids = NamespaceIds.of(id, engine.readableTargets());
            namespaceIds = ids;
        }
        return ids;
    }

    /**
     * Restores an entry of the local tier; empty if it is in quarantine or the driver rejects it.
     */
    private Optional<P> restoreLocal(Entry entry) {
        Optional<P> restored =
                restorer.restore(entry, tiers.local().name(), tiers.local().cache()::discard);
        restored.ifPresent(primitive -> {
            tiers.layers().compileTimes().observe(entry);
            stored = Optional.of(new StoredStep(entry, tiers.local().cache()::discard));
            recordRestore(primitive, entry, PrimitiveSource.LOCAL);
        });
        return restored;
    }

    /**
     * Step 3: restores an entry of a layer; empty if it is in quarantine or the driver rejects it.
     */
    private Optional<P> restoreFromBucket(Entry entry, RemoteLayer bucket) {
        Optional<P> restored = restorer.restore(entry, bucket.name(), bucket::refused);
        restored.ifPresent(primitive -> {
            bucket.used(entry);
            stored = Optional.of(new StoredStep(entry, refused -> {
                tiers.local().cache().discard(refused);
                bucket.refused(refused);
            }));
            if (!recordRestore(primitive, entry, PrimitiveSource.BUCKET)) {
                tiers.writeBehind().fill(entry, claim);
            }
            layer = OptionalInt.of(bucket.position());
            layerName = Optional.of(bucket.name());
        });
        return restored;
    }

    /**
     * Records the source. If the driver has returned other binaries than those of the entry, they
     * are stored.
     *
     * @return true if other binaries are stored, with the claim
     */
    private boolean recordRestore(P primitive, Entry entry, PrimitiveSource origin) {
        source = origin;
        restoredBytes = entry.binaries().byteSize();
        if (step == Step.EARLIER) {
            tiers.counters().increment(LookupCounter.INTERMEDIATE_HITS);
        }
        boolean isRecompiled = primitive.origin() == Primitive.Origin.RECOMPILED;
        if (isRecompiled) {
            tiers.counters().increment(LookupCounter.RECOMPILED_BY_DRIVER);
        }
        boolean isCross = isOther(entry.id().target());
        if (isCross) {
            tiers.counters().increment(LookupCounter.CROSS_NAMESPACE);
            from = Optional.of(entry.id().target());
        }
        boolean isStored = isRecompiled
                || (isCross && !primitive.getBinaries(BinaryKind.KERNEL).isEmpty());
        if (isStored) {
            tiers.writeBehind().restoredAnew(primitive, entry.compileTime(), claim);
        }
        return isStored;
    }

    private boolean isOther(Target target) {
        return !target.equals(descriptor.getId().target());
    }

    /** Compiles without the tiers, and counts the reason. */
    private P compileUncached(LookupCounter reason) throws CompileException {
        tiers.counters().increment(reason);
        return compiler().compileUncached();
    }

    private PrimitiveCompiler<D, P> compiler() {
        return new PrimitiveCompiler<>(tiers, engine, descriptor, step, restorer);
    }
}
