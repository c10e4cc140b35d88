package dev.granary.coordinator;

import dev.granary.cache.BinaryKind;
import dev.granary.cache.CompileException;
import dev.granary.cache.Engine;
import dev.granary.cache.Entry;
import dev.granary.cache.Id;
import dev.granary.cache.LoadResult;
import dev.granary.cache.Primitive;
import dev.granary.cache.PrimitiveDescriptor;
import dev.granary.cache.RestoreException;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The way of a look-up below the memory: local tier, bucket, compile. Every step may fail, and each failure is a miss. Thread-safe.
 */
final class LookUp {
    private final List<Tier> tiers;
    private final Optional<Quarantine> quarantine;
    private final WriteBehind writeBehind;
    private final Counters counters;

    /** Asks {@code tiers} in their order. */
    LookUp(List<Tier> tiers, Optional<Quarantine> quarantine, WriteBehind writeBehind, Counters counters) {
        this.tiers = tiers;
        this.quarantine = quarantine;
        this.writeBehind = writeBehind;
        this.counters = counters;
    }

    /** A primitive and where it was found. */
    record Found<P extends Primitive>(P primitive, Source source) {}

    <D extends PrimitiveDescriptor, P extends Primitive> Found<P> find(Engine<D, P> engine, D descriptor) throws CompileException {
        Id id = descriptor.getId();
        if (id.isEmpty()) {
            counters.notCacheable.increment();
            return compile(engine, descriptor);
        }
        for (Tier tier : tiers) {
            Found<P> found = findIn(tier, engine, descriptor, id);
            if (found != null) {
                return found;
            }
        }
        return compile(engine, descriptor);
    }

    private <D extends PrimitiveDescriptor, P extends Primitive> @Nullable Found<P> findIn(
            Tier tier, Engine<D, P> engine, D descriptor, Id id) {
        long start = System.nanoTime();
        if (!(tier.load(id) instanceof LoadResult.Hit(Entry entry))) {
            return null;
        }
        P primitive = restore(tier, engine, descriptor, entry);
        if (primitive == null) {
            return null;
        }
        counters.savedNanos.add(Math.max(0, entry.compileTime().toNanos() - (System.nanoTime() - start)));
        if (primitive.origin() == Primitive.Origin.RECOMPILED) {
            counters.recompiledByDriver.increment();
            writeBehind.recompiled(primitive, entry.compileTime());
        } else if (tier.source() != Source.LOCAL) {
            writeBehind.fill(entry);
        }
        return new Found<>(primitive, tier.source());
    }

    private <D extends PrimitiveDescriptor, P extends Primitive> @Nullable P restore(
            Tier tier, Engine<D, P> engine, D descriptor, Entry entry) {
        if (quarantine.isPresent() && quarantine.get().holds(entry)) {
            counters.quarantined.increment();
            return null;
        }
        quarantine.ifPresent(marks -> marks.begin(entry));
        try {
            return engine.create(descriptor, entry.binaries(), BinaryKind.KERNEL);
        } catch (RestoreException e) {
            counters.refusedByDriver.increment();
            WarnOnce.warn("restore", "A stored binary is dropped and compiled anew: " + e.getMessage());
            tier.cache().discard(entry);
            return null;
        } finally {
            quarantine.ifPresent(marks -> marks.end(entry));
        }
    }

    private <D extends PrimitiveDescriptor, P extends Primitive> Found<P> compile(Engine<D, P> engine, D descriptor) throws CompileException {
        long start = System.nanoTime();
        try {
            P primitive = engine.create(descriptor);
            counters.compiled.increment();
            counters.compileNanos.add(System.nanoTime() - start);
            if (!descriptor.getId().isEmpty()) {
                writeBehind.compiled(primitive);
            }
            return new Found<>(primitive, Source.COMPILED);
        } catch (CompileException e) {
            counters.compileFailures.increment();
            throw e;
        }
    }
}
