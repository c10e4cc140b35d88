package dev.granary.coordinator.lookup;

import dev.granary.cache.CompileException;
import dev.granary.cache.Deadline;
import dev.granary.cache.Engine;
import dev.granary.cache.Entry;
import dev.granary.cache.Id;
import dev.granary.cache.LoadResult;
import dev.granary.cache.Primitive;
import dev.granary.cache.PrimitiveDescriptor;
import dev.granary.cache.Target;
import dev.granary.coordinator.event.GranaryEvent;
import dev.granary.coordinator.machine.MachineClaims.Claim;
import dev.granary.coordinator.machine.MachineClaims.Outcome;
import dev.granary.coordinator.observe.EventDispatcher;
import dev.granary.coordinator.observe.EventDispatcher.Span;
import dev.granary.coordinator.observe.EventKind;
import dev.granary.coordinator.statistics.Counter;
import dev.granary.coordinator.tier.CountedTier;
import dev.granary.coordinator.tier.Found;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;

/**
 * One lookup below the memory: the local tier, the claim of this machine, the layers in their
 * order, the claim of another machine, and the compiler. Each step returns what it found, or
 * nothing: a failure is a counted miss. The lookup has the claim of its machine until write-behind
 * gets it. Used once, by one thread.
 */
public final class Lookup<D extends PrimitiveDescriptor, P extends Primitive> {
    private final LookupContext context;
    private final Engine<D, P> engine;
    private final D descriptor;
    private final Restorer<D, P> restorer;
    private final Compiler<D, P> compiler;

    /** The place of a lookup in a compile of several steps. */
    enum Step {
        /** The lookup of a caller. */
        LAST,
        /** A lookup within the compile of another one, which counts failures. */
        EARLIER
    }

    /**
     * Creates a lookup.
     *
     * @throws IllegalArgumentException if the descriptor is for another target than the engine's
     */
    public Lookup(LookupContext context, Engine<D, P> engine, D descriptor) {
        this(context, engine, descriptor, Step.LAST);
    }

    Lookup(LookupContext context, Engine<D, P> engine, D descriptor, Step step) {
        engine.requireTarget(descriptor);
        this.context = context;
        this.engine = engine;
        this.descriptor = descriptor;
        this.restorer = new Restorer<>(context, engine, descriptor, step, System.nanoTime());
        this.compiler = new Compiler<>(context, engine, descriptor, step);
    }

    /**
     * Returns the primitive, from the tiers or compiled.
     *
     * @throws CompileException if no tier had the primitive and its source does not compile
     */
    public Found<P> find() throws CompileException {
        return reported(() -> find(true)).orElseThrow();
    }

    /**
     * Returns the same as {@link #find()}; empty if another machine is compiling the primitive and
     * its entry is not there yet.
     */
    public Optional<Found<P>> findUnclaimed() throws CompileException {
        return reported(() -> find(false));
    }

    /** Returns the primitive if a tier has it in time; never compiles. */
    public Optional<Found<P>> findStored(Deadline deadline) throws CompileException {
        return reported(() -> stored(deadline));
    }

    /** A search that may find nothing. */
    @FunctionalInterface
    public interface Search<P extends Primitive> {
        Optional<Found<P>> find() throws CompileException;
    }

    /** Searches, and dispatches the event of this lookup. */
    private Optional<Found<P>> reported(Search<P> search) throws CompileException {
        Span span = context.events().begin(EventKind.LOOKUP);
        Optional<Found<P>> found = Optional.empty();
        try {
            found = search.find();
            if (found.isPresent()) {
                Optional<Found.Stored> origin = found.get().origin();
                context.used()
                        .accept(
                                origin.isPresent()
                                        ? origin.get().entry().id()
                                        : descriptor.getId());
            }
            return found;
        } finally {
            if (span.isObserved()) {
                Optional<Found<P>> result = found;
                span.end(took -> event(result, took));
            }
        }
    }

    private GranaryEvent event(Optional<Found<P>> found, Duration took) {
        Optional<Found.Stored> origin = found.flatMap(Found::origin);
        return new GranaryEvent.Lookup(
                EventDispatcher.digest(descriptor.getId()),
                engine.target(),
                found.map(Found::source),
                origin.filter(stored -> stored.layer().isPresent())
                        .map(stored -> stored.tier().name()),
                origin.map(stored -> stored.entry().binaries().byteSize()).orElse(0L),
                took);
    }

    /** Returns the primitive from a tier, without a claim; empty if none has it in time. */
    private Optional<Found<P>> stored(Deadline deadline) {
        Id id = descriptor.getId();
        if (id.isEmpty() || !context.isEnabled().test(engine)) {
            return Optional.empty();
        }
        List<Id> ids = namespaces(id);
        Outcome local =
                context.local().load(ids, Deadline.NONE) instanceof LoadResult.Hit(Entry entry)
                        ? Outcome.of(entry, Duration.ZERO)
                        : Outcome.UNCLAIMED;
        Optional<Found<P>> found = search(local, ids, deadline);
        found.ifPresent(each -> store(each, Claim.NONE));
        return found;
    }

    /**
     * Finds or compiles the primitive.
     *
     * @param waits whether to wait for another machine that compiles it; else the result is empty
     */
    private Optional<Found<P>> find(boolean waits) throws CompileException {
        Id id = descriptor.getId();
        if (id.isEmpty()) {
            return Optional.of(compiler.withoutTiers(Counter.NOT_CACHEABLE));
        }
        // an earlier step is of an enabled engine, whose kind its own engine does not have
        if (compiler.step() == Step.LAST && !context.isEnabled().test(engine)) {
            return Optional.of(compiler.withoutTiers(Counter.DISABLED));
        }
        List<Id> ids = namespaces(id);
        Outcome claimed = loadOrClaim(ids);
        try {
            Optional<Found<P>> found = search(claimed, ids, Deadline.NONE);
            if (found.isEmpty()) {
                return compileOnce(id, claimed.claim(), waits);
            }
            store(found.get(), claimed.claim());
            return found;
        } catch (Throwable e) {
            claimed.claim().close();
            throw e;
        }
    }

    /** Compiles, unless another machine does; then the lookup waits for the entry. */
    private Optional<Found<P>> compileOnce(Id id, Claim claim, boolean waits)
            throws CompileException {
        FleetClaims.Outcome fleet = context.fleet()
                .map(claims -> claims.claim(id, waits))
                .orElse(FleetClaims.Outcome.NONE);
        if (fleet == FleetClaims.Outcome.TAKEN) {
            claim.close();
            return Optional.empty();
        }
        Optional<Found<P>> found = fleet.stored().flatMap(restorer::restore);
        if (found.isPresent()) {
            store(found.get(), claim);
            return found;
        }
        try {
            return Optional.of(compiler.compile(claim));
        } catch (Throwable e) {
            fleet.failed().run();
            throw e;
        }
    }

    private void store(Found<P> found, Claim claim) {
        if (context.writeBehind().isPresent()) {
            context.writeBehind().get().restored(found, claim);
        }
    }

    /**
     * Returns the ids of the same inputs in the namespaces that the engine reads, in the order of
     * lookups, {@code own} first.
     */
    private List<Id> namespaces(Id own) {
        Target target = own.target();
        List<Id> ids = new ArrayList<>();
        ids.add(own);
        for (Target other : engine.readableTargets()) {
            if (!other.equals(target) && target.backend().reads(other.backend())) {
                ids.add(own.withTarget(other));
            }
        }
        return ids;
    }

    /**
     * Returns the entry of the local tier, after a wait for it if another process has the claim.
     * With an entry there is no claim: if this machine cannot use it, others must not wait for one.
     */
    private Outcome loadOrClaim(List<Id> ids) {
        CountedTier local = context.local();
        LoadResult loaded = local.load(ids, Deadline.NONE);
        if (loaded instanceof LoadResult.Hit(Entry entry)) {
            return Outcome.of(entry, Duration.ZERO);
        }
        return loaded instanceof LoadResult.Unavailable
                ? Outcome.UNCLAIMED // an entry of another process could not be read either
                : context.claims().apply(ids.getFirst(), () -> local.poll(List.of(ids.getFirst())));
    }

    /**
     * Returns the primitive of the local entry, if there is one, else that of the first layer with
     * an entry that this engine can use.
     */
    private Optional<Found<P>> search(Outcome local, List<Id> ids, Deadline deadline) {
        if (local.entry().isPresent()) {
            Optional<Found<P>> found = restorer.restore(new Found.Stored(
                    local.entry().get(), context.local(), OptionalInt.empty(), local.waited()));
            if (found.isPresent()) {
                return found;
            }
        }
        return context.tiers().search(ids, deadline, restorer::restore);
    }
}
