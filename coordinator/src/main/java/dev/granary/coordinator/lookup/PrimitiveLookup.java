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
import dev.granary.coordinator.publish.WriteBehindQueue;
import dev.granary.coordinator.session.RestoreQuarantine;
import dev.granary.coordinator.statistics.LookupCounters;
import dev.granary.coordinator.statistics.PrimitiveSource;
import dev.granary.coordinator.stores.CountingCache;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The way of a look-up below the memory: local tier, then, with the claim of this machine, the buckets and compile. Every step may fail, and each
 * failure is a miss. Thread-safe.
 */
public final class PrimitiveLookup {
    private final CountingCache local;
    private final LayeredLookup layers;
    private final Optional<RestoreQuarantine> quarantine;
    private final Optional<ClaimCoordinator> wait;
    private final WriteBehindQueue writeBehind;
    private final LookupCounters counters;

    public PrimitiveLookup(CountingCache local, LayeredLookup layers, Optional<RestoreQuarantine> quarantine, Optional<ClaimCoordinator> wait, WriteBehindQueue writeBehind,
            LookupCounters counters) {
        this.local = local;
        this.layers = layers;
        this.quarantine = quarantine;
        this.wait = wait;
        this.writeBehind = writeBehind;
        this.counters = counters;
    }

    /** A primitive and where it was found; the position of the layer, counted from 0, where it was in a bucket. */
    public record Found<P extends Primitive>(P primitive, PrimitiveSource source, OptionalInt layer) {}

    public <D extends PrimitiveDescriptor, P extends Primitive> Found<P> find(Engine<D, P> engine, D descriptor) throws CompileException {
        StackReserve.require(); // else claims, marks and the stores' locks could be left halfway
        Id id = descriptor.getId();
        if (id.isEmpty()) {
            counters.notCacheable.increment();
            return compile(engine, descriptor, CompileClaim.NONE);
        }
        long start = System.nanoTime();
        return switch (lookHere(id)) {
            case ClaimCoordinator.Outcome.Stored(Entry entry) -> {
                Found<P> found = useLocal(entry, engine, descriptor, start);
                // What cannot be used here would be waited for again and again.
                yield found != null ? found : findElsewhere(engine, descriptor, start, CompileClaim.NONE);
            }
            case ClaimCoordinator.Outcome.Claimed(CompileClaim claim) -> findElsewhere(engine, descriptor, start, claim);
            case ClaimCoordinator.Outcome.Unclaimed _ -> findElsewhere(engine, descriptor, start, CompileClaim.NONE);
        };
    }

    /** The entry of the local tier, if need be after waiting for it, else the claim to come by it, if there is one to be had. */
    private ClaimCoordinator.Outcome lookHere(Id id) {
        TierLookups looks = new TierLookups(local, id);
        ClaimCoordinator.Outcome outcome = switch (looks.look()) {
            case LoadResult.Hit(Entry entry) -> new ClaimCoordinator.Outcome.Stored(entry);
            case LoadResult.Absent _, LoadResult.Damaged _ ->
                wait.isPresent() ? wait.get().claim(id, looks::look) : new ClaimCoordinator.Outcome.Unclaimed();
            case LoadResult.Unavailable _ -> new ClaimCoordinator.Outcome.Unclaimed(); // nor would another's entry be seen
        };
        try {
            looks.count();
            return outcome;
        } catch (Throwable e) {
            if (outcome instanceof ClaimCoordinator.Outcome.Claimed(CompileClaim claim)) {
                claim.close(); // nobody has it
            }
            throw e;
        }
    }

    private <D extends PrimitiveDescriptor, P extends Primitive> Found<P> findElsewhere(
            Engine<D, P> engine, D descriptor, long start, CompileClaim claim) throws CompileException {
        try {
            LayeredLookup.Passage passage = layers.look(descriptor.getId());
            for (LayeredLookup.Hit hit = passage.next(); hit != null; hit = passage.next()) {
                Found<P> found = use(hit, engine, descriptor, start, claim);
                if (found != null) {
                    return found;
                }
            }
            return compile(engine, descriptor, claim);
        } catch (Throwable e) {
            claim.close(); // nothing will be stored
            throw e;
        }
    }

    /** Restores what the local tier has; null where the driver must not or will not take it. */
    private <D extends PrimitiveDescriptor, P extends Primitive> @Nullable Found<P> useLocal(
            Entry entry, Engine<D, P> engine, D descriptor, long start) {
        P primitive = restore(engine, descriptor, entry, start, local.cache()::discard);
        if (primitive == null) {
            return null;
        }
        layers.cost().seen(entry.compileTime().toNanos());
        if (primitive.origin() == Primitive.Origin.RECOMPILED) {
            recompiled(primitive, entry, CompileClaim.NONE);
        }
        return new Found<>(primitive, PrimitiveSource.LOCAL, OptionalInt.empty());
    }

    /** Restores what a layer has; null where the driver must not or will not take it. The claim is passed on with the primitive. */
    private <D extends PrimitiveDescriptor, P extends Primitive> @Nullable Found<P> use(
            LayeredLookup.Hit hit, Engine<D, P> engine, D descriptor, long start, CompileClaim claim) {
        P primitive = restore(engine, descriptor, hit.entry(), start, _ -> layers.refused(hit));
        if (primitive == null) {
            return null;
        }
        layers.used(hit);
        if (primitive.origin() == Primitive.Origin.RECOMPILED) {
            recompiled(primitive, hit.entry(), claim);
        } else {
            writeBehind.fill(hit.entry(), hit.position(), claim);
        }
        return new Found<>(primitive, PrimitiveSource.BUCKET, OptionalInt.of(hit.position()));
    }

    private void recompiled(Primitive primitive, Entry entry, CompileClaim claim) {
        counters.recompiledByDriver.increment();
        writeBehind.recompiled(primitive, entry.compileTime(), claim);
    }

    private <D extends PrimitiveDescriptor, P extends Primitive> @Nullable P restore(
            Engine<D, P> engine, D descriptor, Entry entry, long start, Consumer<Entry> discard) {
        if (quarantine.isPresent() && quarantine.get().holds(entry)) {
            counters.quarantined.increment();
            return null;
        }
        try {
            quarantine.ifPresent(marks -> marks.begin(entry)); // a mark that stays would keep the entry from the next process
            P primitive = engine.create(descriptor, entry.binaries(), BinaryKind.KERNEL);
            counters.savedNanos.add(Math.max(0, entry.compileTime().toNanos() - (System.nanoTime() - start)));
            return primitive;
        } catch (RestoreException e) {
            counters.refusedByDriver.increment();
            LogOnce.warn("restore", "A stored binary is dropped and compiled anew: " + e.getMessage());
            discard.accept(entry);
            return null;
        } finally {
            quarantine.ifPresent(marks -> marks.end(entry));
        }
    }

    private <D extends PrimitiveDescriptor, P extends Primitive> Found<P> compile(Engine<D, P> engine, D descriptor, CompileClaim claim)
            throws CompileException {
        long start = System.nanoTime();
        try {
            P primitive = engine.create(descriptor);
            counters.compiled.increment();
            long took = System.nanoTime() - start;
            counters.compileNanos.add(took);
            if (!descriptor.getId().isEmpty()) {
                layers.cost().paid(Math.max(took, primitive.compileTime().toNanos()));
                writeBehind.compiled(primitive, took, claim);
            }
            return new Found<>(primitive, PrimitiveSource.COMPILED, OptionalInt.empty());
        } catch (CompileException e) {
            counters.compileFailures.increment();
            throw e;
        }
    }
}
