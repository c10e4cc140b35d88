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
import dev.granary.coordinator.layer.RemoteLayers;
import dev.granary.coordinator.publish.WriteBehindQueue;
import dev.granary.coordinator.session.RestoreQuarantine;
import dev.granary.coordinator.statistics.LookupCounter;
import dev.granary.coordinator.statistics.LookupCounters;
import dev.granary.coordinator.statistics.PrimitiveSource;
import dev.granary.coordinator.stores.CountingCache;

import org.jspecify.annotations.Nullable;

import java.util.Optional;
import java.util.OptionalInt;
import java.util.function.Consumer;

/**
 * Lookup below the memory tier: the local tier, then, with the claim of this machine, the buckets
 * and the compiler. Each step may fail, and a failure is a miss. Thread-safe.
 */
public final class PrimitiveLookup {
    private final CountingCache local;
    private final RemoteLayers layers;
    private final Optional<RestoreQuarantine> quarantine;
    private final Optional<ClaimCoordinator> coordinator;
    private final WriteBehindQueue writeBehind;
    private final LookupCounters counters;

    public PrimitiveLookup(
            CountingCache local,
            RemoteLayers layers,
            Optional<RestoreQuarantine> quarantine,
            Optional<ClaimCoordinator> coordinator,
            WriteBehindQueue writeBehind,
            LookupCounters counters) {
        this.local = local;
        this.layers = layers;
        this.quarantine = quarantine;
        this.coordinator = coordinator;
        this.writeBehind = writeBehind;
        this.counters = counters;
    }

    /**
     * A primitive with its source.
     *
     * @param primitive the primitive
     * @param source where it was found
     * @param layer the position of its bucket, counted from 0; empty unless the source is a bucket
     */
    public record FoundPrimitive<P extends Primitive>(
            P primitive, PrimitiveSource source, OptionalInt layer) {}

    public <D extends PrimitiveDescriptor, P extends Primitive> FoundPrimitive<P> find(
            Engine<D, P> engine, D descriptor) throws CompileException {
        // else a stack overflow could leave claims, quarantine marks and locks of the stores behind
        StackReserve.require();
        Id id = descriptor.getId();
        if (id.isEmpty()) {
            counters.increment(LookupCounter.NOT_CACHEABLE);
            return compile(engine, descriptor, CompileClaim.NONE);
        }
        long start = System.nanoTime();
        return switch (lookUpLocally(id)) {
            case ClaimCoordinator.Outcome.Stored(Entry entry) -> {
                FoundPrimitive<P> found = restoreLocal(entry, engine, descriptor, start);
                // Without a claim: others would wait for an entry that this machine cannot use.
                yield found != null
                        ? found
                        : findInLayers(engine, descriptor, start, CompileClaim.NONE);
            }
            case ClaimCoordinator.Outcome.Claimed(CompileClaim claim) ->
                findInLayers(engine, descriptor, start, claim);
            case ClaimCoordinator.Outcome.Unclaimed _ ->
                findInLayers(engine, descriptor, start, CompileClaim.NONE);
        };
    }

    /**
     * Returns the entry of the local tier, after a wait for it if another process has the claim;
     * else the claim, if one can be acquired.
     */
    private ClaimCoordinator.Outcome lookUpLocally(Id id) {
        TierLookups lookups = new TierLookups(local, id);
        ClaimCoordinator.Outcome outcome =
                switch (lookups.lookup()) {
                    case LoadResult.Hit(Entry entry) -> new ClaimCoordinator.Outcome.Stored(entry);
                    case LoadResult.Absent _, LoadResult.Damaged _ ->
                        coordinator.isPresent()
                                ? coordinator.get().claim(id, lookups::lookup)
                                : new ClaimCoordinator.Outcome.Unclaimed();
                    // an entry of another process could not be read either
                    case LoadResult.Unavailable _ -> new ClaimCoordinator.Outcome.Unclaimed();
                };
        try {
            lookups.count();
            return outcome;
        } catch (Throwable e) {
            if (outcome instanceof ClaimCoordinator.Outcome.Claimed(CompileClaim claim)) {
                claim.close(); // no caller receives it
            }
            throw e;
        }
    }

    private <D extends PrimitiveDescriptor, P extends Primitive> FoundPrimitive<P> findInLayers(
            Engine<D, P> engine, D descriptor, long start, CompileClaim claim)
            throws CompileException {
        try {
            RemoteLayers.Attempt attempt = layers.start(descriptor.getId());
            for (RemoteLayers.Hit hit = attempt.next(); hit != null; hit = attempt.next()) {
                FoundPrimitive<P> found = restoreFromBucket(hit, engine, descriptor, start, claim);
                if (found != null) {
                    return found;
                }
            }
            return compile(engine, descriptor, claim);
        } catch (Throwable e) {
            claim.close();
            throw e;
        }
    }

    /**
     * Restores an entry of the local tier; returns null if it is in quarantine or the driver
     * rejects it.
     */
    private <D extends PrimitiveDescriptor, P extends Primitive> @Nullable
            FoundPrimitive<P> restoreLocal(
                    Entry entry, Engine<D, P> engine, D descriptor, long start) {
        P primitive = restore(engine, descriptor, entry, start, local.cache()::discard);
        if (primitive == null) {
            return null;
        }
        layers.compileTimes().observe(entry.compileTime().toNanos());
        if (primitive.origin() == Primitive.Origin.RECOMPILED) {
            recompiled(primitive, entry, CompileClaim.NONE);
        }
        return new FoundPrimitive<>(primitive, PrimitiveSource.LOCAL, OptionalInt.empty());
    }

    /**
     * Restores an entry of a layer; returns null if it is in quarantine or the driver rejects it.
     * The claim is passed on with the primitive.
     */
    private <D extends PrimitiveDescriptor, P extends Primitive> @Nullable
            FoundPrimitive<P> restoreFromBucket(
                    RemoteLayers.Hit hit,
                    Engine<D, P> engine,
                    D descriptor,
                    long start,
                    CompileClaim claim) {
        P primitive = restore(
                engine, descriptor, hit.entry(), start, _ -> hit.layer().refused(hit.entry()));
        if (primitive == null) {
            return null;
        }
        hit.layer().used(hit.entry());
        if (primitive.origin() == Primitive.Origin.RECOMPILED) {
            recompiled(primitive, hit.entry(), claim);
        } else {
            writeBehind.fill(hit.entry(), hit.layer(), claim);
        }
        return new FoundPrimitive<>(
                primitive, PrimitiveSource.BUCKET, OptionalInt.of(hit.layer().position()));
    }

    private void recompiled(Primitive primitive, Entry entry, CompileClaim claim) {
        counters.increment(LookupCounter.RECOMPILED_BY_DRIVER);
        writeBehind.recompiled(primitive, entry.compileTime(), claim);
    }

    private <D extends PrimitiveDescriptor, P extends Primitive> @Nullable P restore(
            Engine<D, P> engine, D descriptor, Entry entry, long start, Consumer<Entry> discard) {
        if (quarantine.isPresent() && quarantine.get().contains(entry)) {
            counters.increment(LookupCounter.QUARANTINED);
            return null;
        }
        try {
            // a mark that remains would put the entry into quarantine
            quarantine.ifPresent(restores -> restores.begin(entry));
            P primitive = engine.create(descriptor, entry.binaries(), BinaryKind.KERNEL);
            counters.add(
                    LookupCounter.TIME_SAVED,
                    Math.max(0, entry.compileTime().toNanos() - (System.nanoTime() - start)));
            return primitive;
        } catch (RestoreException e) {
            counters.increment(LookupCounter.REFUSED_BY_DRIVER);
            LogOnce.warn(
                    "restore",
                    "The driver rejected a stored binary, which is discarded and compiled again: "
                            + e.getMessage());
            discard.accept(entry);
            return null;
        } finally {
            quarantine.ifPresent(restores -> restores.end(entry));
        }
    }

    private <D extends PrimitiveDescriptor, P extends Primitive> FoundPrimitive<P> compile(
            Engine<D, P> engine, D descriptor, CompileClaim claim) throws CompileException {
        long start = System.nanoTime();
        try {
            P primitive = engine.create(descriptor);
            counters.increment(LookupCounter.COMPILED);
            long took = System.nanoTime() - start;
            counters.add(LookupCounter.COMPILE_TIME, took);
            if (!descriptor.getId().isEmpty()) {
                layers.compileTimes()
                        .compiled(Math.max(took, primitive.compileTime().toNanos()));
                writeBehind.compiled(primitive, took, claim);
            }
            return new FoundPrimitive<>(primitive, PrimitiveSource.COMPILED, OptionalInt.empty());
        } catch (CompileException e) {
            counters.increment(LookupCounter.COMPILE_FAILURES);
            throw e;
        }
    }
}
