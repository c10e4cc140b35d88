package dev.granary.coordinator;

import dev.granary.cache.Backend;
import dev.granary.cache.CompileException;
import dev.granary.cache.Deadline;
import dev.granary.cache.Engine;
import dev.granary.cache.Entry;
import dev.granary.cache.Id;
import dev.granary.cache.LoadResult;
import dev.granary.cache.Primitive;
import dev.granary.cache.PrimitiveDescriptor;
import dev.granary.cache.Sha256;
import dev.granary.cache.constant.ConstantTensorCaches;
import dev.granary.cache.constant.EngineKind;
import dev.granary.cache.support.Closer;
import dev.granary.cache.support.Ticker;
import dev.granary.cache.support.Warnings;
import dev.granary.coordinator.config.ConfigException;
import dev.granary.coordinator.config.GranaryConfig;
import dev.granary.coordinator.config.GranaryConfig.EnabledEngines;
import dev.granary.coordinator.lookup.FleetClaims;
import dev.granary.coordinator.lookup.Lookup;
import dev.granary.coordinator.lookup.LookupContext;
import dev.granary.coordinator.machine.Machine;
import dev.granary.coordinator.machine.MachineClaims;
import dev.granary.coordinator.machine.RestoreQuarantine;
import dev.granary.coordinator.machine.UseLog;
import dev.granary.coordinator.observe.Counters;
import dev.granary.coordinator.observe.EventDispatcher;
import dev.granary.coordinator.publish.UploadQueue;
import dev.granary.coordinator.publish.UploadQueue.EntryUploader;
import dev.granary.coordinator.publish.WriteBehindQueue;
import dev.granary.coordinator.recording.KernelRecorder;
import dev.granary.coordinator.statistics.Counter;
import dev.granary.coordinator.statistics.GranaryStatistics;
import dev.granary.coordinator.statistics.PrimitiveSource;
import dev.granary.coordinator.tier.MissAdvice;
import dev.granary.coordinator.tier.SwitchedCache;
import dev.granary.coordinator.tier.TierFactory;
import dev.granary.coordinator.tier.Tiers;
import dev.granary.coordinator.tier.Tiers.Layer;
import dev.granary.gpu.KernelEngine;
import dev.granary.gpu.composite.CompositeDescriptor;
import dev.granary.gpu.composite.CompositePrimitive;
import dev.granary.gpu.composite.EngineSet;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.nio.file.Path;
import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;

/**
 * Cache of primitives that are compiled once per fleet. A lookup searches the memory, the local
 * directory and the buckets, and compiles only if all of them miss. Thread-safe; one instance per
 * process is enough.
 *
 * <p>A lookup never fails because of a store, and never waits for one longer than its deadline.
 * Failures are counted in {@link #statistics()}. Entries are stored by write-behind, after the
 * caller has its primitive.
 *
 * <p>If the process ends without a close, a shutdown hook stores what was compiled in the local
 * tier, for at most the flush limit. The next process uploads it.
 *
 * <p>After {@link #close()} every call throws {@link IllegalStateException}, also for a kernel in
 * memory; {@link #statistics()} and {@link #close()} itself can still be called.
 */
public final class Granary implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(Granary.class);

    private final GranaryConfig config;
    private final Tiers tiers;
    private final Machine machine;
    private final MemoryTier memory;
    private final ConstantTensorCaches constants;
    private final Counters counters = new Counters();
    private final Optional<UploadQueue> uploads; // to the target of the tiers
    private final WriteBehindQueue writeBehind;
    private volatile EnabledEngines engines; // whose lookups go beyond memory; written under this
    private final UseLog uses;
    private final LookupContext context;
    private final boolean isFilling; // a bucket, in which it expects no hits
    private final Optional<KernelRecorder> recorder;
    private final EventDispatcher events;
    private final Closer closer; // of all that was opened
    private final Thread exitHook;
    private final AtomicBoolean isClosed = new AtomicBoolean();

    Granary(GranaryConfig configured, GranaryBuilder how) throws ConfigException {
        Closer opened = new Closer();
        try {
            this.config = TierFactory.usable(configured);
            this.events = new EventDispatcher(how.listeners, counters);
            opened.add(() -> events.close(config.flushLimit()));
            // closed after the tiers, whose last sweep counts
            Closer afterTiers = opened.add(new Closer());
            this.tiers = opened.add(Tiers.open(config, how.sources(config), events));
            this.machine = Machine.open(
                    config, tiers.target().map(Layer::name), how.local != null, how.clock);
            afterTiers.add(machine);
            this.uploads = tiers.target()
                    .map(layer -> opened.add(new UploadQueue(
                            tiers.local(),
                            EntryUploader.to(layer, how.isInPacks),
                            machine.outbox(),
                            counters,
                            Ticker.SYSTEM,
                            (id, result) ->
                                    how.whenPublished.published(layer.name(), id, result))));
            machine.inherit(id -> uploads.orElseThrow().addInherited(id));
            this.isFilling = how.isInPacks;
            this.writeBehind = opened.add(new WriteBehindQueue(
                    tiers, uploads, counters, how.clock, config.signer(), how.whenPublished));
            this.engines = config.enabled();
            Optional<MachineClaims> claims = machine.claims()
                    .map(local -> new MachineClaims(
                            local::claim,
                            config.claimWait(),
                            tiers.compileTimes(),
                            Ticker.SYSTEM,
                            counters,
                            events));
            this.uses = new UseLog(machine, tiers.layers(), this::statistics, how.clock);
            this.context = new LookupContext(
                    how.isReading ? tiers : tiers.withoutLayers(),
                    machine::isInQuarantine,
                    machine::beginRestore,
                    (id, poll) -> claims.isPresent()
                            ? claims.get().claim(id, poll)
                            : MachineClaims.Outcome.UNCLAIMED,
                    tiers.target()
                            .filter(_ -> how.isReading && !config.claimWait().isZero())
                            .flatMap(layer -> layer.store()
                                    .map(store -> new FleetClaims(
                                            layer,
                                            store.claims(),
                                            how.isInPacks && layer.bucket().isPresent(),
                                            tiers.compileTimes(),
                                            config.claimWait(),
                                            Ticker.SYSTEM,
                                            counters,
                                            events))),
                    Optional.of(writeBehind),
                    counters,
                    events,
                    engine -> engines.contains(engine),
                    uses::add);
            this.recorder =
                    config.recording().map(file -> opened.add(new KernelRecorder(file, counters)));
            this.memory = new MemoryTier(config, this::primitive, counters, recorder, events);
            this.constants = opened.add(new ConstantTensorCaches(config.constantLimits()));
            afterTiers.add(() -> machine.addTotals(statistics()));
            this.exitHook = new Thread(this::finishAtExit, "granary-exit");
            try {
                Runtime.getRuntime().addShutdownHook(exitHook);
            } catch (IllegalStateException e) {
                // the process is ending: there is only close
            }
            this.closer = opened;
        } catch (ConfigException | RuntimeException | Error e) {
            opened.close();
            throw e;
        }
    }

    /** Returns a builder, for caches that the application plugs in. */
    public static GranaryBuilder builder() {
        return new GranaryBuilder();
    }

    /**
     * Opens the local directory and creates the bucket clients. No request is sent to a bucket.
     *
     * @throws ConfigException if the configuration cannot work, with the necessary change
     */
    public static Granary open(GranaryConfig config) throws ConfigException {
        return builder().config(config).open();
    }

    /**
     * Returns the primitive of {@code descriptor}, ready to be loaded into {@code engine}.
     *
     * @throws CompileException if no tier had the primitive and its source does not compile
     */
    public <D extends PrimitiveDescriptor, P extends Primitive> P primitive(
            Engine<D, P> engine, D descriptor) throws CompileException {
        require(engine, descriptor);
        if (events.observesMemoryHits()) {
            return lookup(engine, descriptor).primitive();
        }
        return memory.program(context, engine, descriptor);
    }

    /** Returns the same as {@link #primitive}, with its source and the time of the lookup. */
    public <D extends PrimitiveDescriptor, P extends Primitive> LookupResult<P> lookup(
            Engine<D, P> engine, D descriptor) throws CompileException {
        require(engine, descriptor);
        LookupResult<P> result = memory.lookup(
                descriptor, () -> Optional.of(new Lookup<>(context, engine, descriptor).find()));
        boolean isInMemory = result.source() == PrimitiveSource.MEMORY
                || result.source() == PrimitiveSource.JOINED;
        if (isInMemory && events.observesMemoryHits()) {
            events.memoryHit(result.primitive(), result.source(), result.took().toNanos());
        }
        return result;
    }

    /**
     * Returns the primitive of {@code descriptor} if the memory, the local tier or a layer has it.
     * Never compiles, and does not wait for another process or thread that does.
     *
     * @return empty also if the engine is disabled or the id is empty
     */
    public <D extends PrimitiveDescriptor, P extends Primitive> Optional<LookupResult<P>> find(
            Engine<D, P> engine, D descriptor) {
        return find(engine, descriptor, Deadline.NONE);
    }

    /**
     * Returns the same as {@link #find(Engine, PrimitiveDescriptor)}, with a limit of the wait for
     * the layers. If it is over, only the memory and the local tier are asked.
     */
    public <D extends PrimitiveDescriptor, P extends Primitive> Optional<LookupResult<P>> find(
            Engine<D, P> engine, D descriptor, Deadline deadline) {
        require(engine, descriptor);
        try {
            return memory.find(descriptor, () -> new Lookup<>(context, engine, descriptor)
                    .findStored(deadline));
        } catch (CompileException e) {
            return Optional.empty(); // of another thread, which this one joined
        }
    }

    /**
     * Returns the same as {@link #lookup}; empty if another machine is compiling the primitive and
     * its entry is not there yet. Threads and processes of this machine are waited for. Tools that
     * divide many lookups among machines call this first for all, then {@link #lookup} for those
     * that were empty.
     */
    public <D extends PrimitiveDescriptor, P extends Primitive>
            Optional<LookupResult<P>> lookupUnclaimed(Engine<D, P> engine, D descriptor)
                    throws CompileException {
        if (context.fleet().isEmpty()) {
            return Optional.of(lookup(engine, descriptor)); // shared with other threads
        }
        require(engine, descriptor);
        return memory.find(
                descriptor, () -> new Lookup<>(context, engine, descriptor).findUnclaimed());
    }

    /**
     * Removes a primitive from the memory and the local tier, such as one whose results are wrong:
     * the next lookup searches the layers, then compiles. A layer keeps its entry; {@code granary
     * compact --without} removes it from a bucket. One that is not stored yet may come back after
     * this call, so {@link #flush} first. Composite primitives that contain it keep it.
     */
    public void invalidate(PrimitiveDescriptor descriptor) {
        requireOpen();
        memory.programs.remove(descriptor);
        Id id = descriptor.getId();
        if (!id.isEmpty() && tiers.local().read(id) instanceof LoadResult.Hit(Entry entry)) {
            tiers.local().discard(entry);
        }
    }

    /**
     * Gets all primitives that a program will need, in parallel and in the background: first those
     * that a tier has, then the rest is compiled, by as many threads as there are processors. Later
     * lookups find them in memory, as far as its capacity suffices.
     *
     * <p>The future has the final state, also if some did not compile. It fails if the engine
     * breaks its contract, {@code progress} throws an exception, or this cache is closed. After its
     * {@code cancel}, lookups that are under way end, and no others begin.
     *
     * @param progress receives the state after each primitive, on other threads, one at a time
     */
    public <D extends PrimitiveDescriptor, P extends Primitive>
            CompletableFuture<Preparation> prepare(
                    Engine<D, P> engine,
                    Collection<? extends D> descriptors,
                    Consumer<Preparation> progress) {
        requireOpen();
        return Preparation.start(this, engine, descriptors, progress);
    }

    /**
     * Returns the composite primitive of {@code descriptor}; {@link CompositePrimitive#open} makes
     * it ready to run. The primitive and its nested primitives are created once per process, with
     * kernels from the tiers. Engines may be closed and reopened: an engine of the same target uses
     * the same primitive without another compile.
     *
     * @throws CompileException if a kernel does not compile
     * @throws IllegalArgumentException if the descriptor is for another target
     * @throws IllegalStateException if the primitive depends on itself, or the engine is closed
     */
    public CompositePrimitive primitive(KernelEngine engine, CompositeDescriptor<?> descriptor)
            throws CompileException {
        return primitive(EngineSet.of(engine), descriptor);
    }

    /** Returns the composite primitive of a descriptor for two engines, such as a reorder. */
    public CompositePrimitive primitive(EngineSet engines, CompositeDescriptor<?> descriptor)
            throws CompileException {
        requireOpen();
        return memory.composites.primitive(engines, descriptor);
    }

    /**
     * Publishes a stored entry in the first writable bucket, in the background: that of the local
     * tier, else that of the layers. The listener for publications receives the result.
     *
     * @return false if no layer is writable
     */
    public boolean publish(Id id) {
        requireOpen();
        if (uploads.isPresent()) {
            writeBehind.publish(id);
        }
        return uploads.isPresent();
    }

    /**
     * Opens the first connection to each bucket now instead of at the first miss: loading a client
     * library takes a noticeable part of a second. For programs that are about to look up many
     * kernels. A plugged layer gets a lookup of an unknown id. Errors are left to the lookups.
     */
    public void connect() {
        requireOpen();
        tiers.connect();
    }

    /**
     * Returns true if primitives of engines of this backend and kind are cached beyond memory. An
     * engine that is no {@link KernelEngine} has no kind, and is disabled with its backend only.
     */
    public boolean isEnabled(Backend backend, EngineKind kind) {
        requireOpen();
        return engines.contains(backend, Optional.of(kind));
    }

    /**
     * Enables or disables the tiers beyond memory for engines of this backend and kind, from the
     * next lookup that misses in memory. A lookup of a disabled engine compiles, and counts as
     * {@link Counter#DISABLED}; nothing is loaded or stored. Stores and uploads of earlier lookups
     * go on, and stored entries stay.
     */
    public synchronized void setEnabled(Backend backend, EngineKind kind, boolean isEnabled) {
        requireOpen();
        engines = engines.with(
                new EnabledEngines.Rule(Optional.of(backend), Optional.of(kind), isEnabled));
    }

    /** Enables or disables the tiers beyond memory for all engines. */
    public synchronized void setEnabled(boolean isEnabled) {
        requireOpen();
        engines = isEnabled ? EnabledEngines.ALL : EnabledEngines.NONE;
    }

    /** Returns the directory of this cache; with the capacity 0 at its opening it is not used. */
    public Path localDirectory() {
        requireOpen();
        return config.directory();
    }

    /** Returns the capacity of the local tier in bytes, 0 if off; empty if it is plugged in. */
    public OptionalLong localCapacity() {
        return tiers.directory().stream().mapToLong(SwitchedCache::capacity).findAny();
    }

    /**
     * Changes the capacity of the local tier for this process. If the directory uses more, the
     * oldest entries are evicted before this method returns; it waits at most 2 s for another
     * process that is evicting. The capacity 0 switches the local tier off: this process neither
     * reads nor writes entries there, and evicts none. A later capacity switches it on.
     *
     * @param bytes the capacity in bytes, 0 or more
     * @throws IllegalArgumentException if {@code bytes} is negative
     * @throws IllegalStateException if this cache was opened with the capacity 0, or is closed
     * @throws UnsupportedOperationException if the local tier is a plugged cache
     */
    public void setLocalCapacity(long bytes) {
        requireOpen();
        tiers.directory()
                .orElseThrow(() -> new UnsupportedOperationException("The local tier is a plugged"
                        + " cache; change its capacity by its own methods"))
                .setCapacity(bytes);
    }

    /** Returns the capacity of the memory tier: of programs, and of composite primitives. */
    public int primitiveCacheCapacity() {
        return memory.programs.capacity();
    }

    /** Returns the number of programs in the memory tier. */
    public int programCacheSize() {
        return memory.programs.size();
    }

    /** Returns the number of composite primitives in the memory tier. */
    public int compositeCacheSize() {
        return memory.composites.statistics().size();
    }

    /**
     * Sets the capacity of the memory tier: the number of composite primitives, and the number of
     * programs. A lower capacity evicts at once; 0 clears and disables the tier. An evicted program
     * stays in the primitives that contain it.
     *
     * @throws IllegalArgumentException if {@code primitives} is negative
     */
    public void setPrimitiveCacheCapacity(int primitives) {
        requireOpen();
        memory.composites.setCapacity(primitives);
        memory.programs.setCapacity(primitives);
    }

    /**
     * Returns the constant tensors of this process, by device. The limits are those of the
     * configuration until code sets others. For an OpenCL engine: {@code new
     * OpenClConstants(granary.constants(), engine)}.
     */
    public ConstantTensorCaches constants() {
        requireOpen();
        return constants;
    }

    /**
     * Marks the start of the trial of a generated kernel, which may end the process. If it does,
     * this kernel is in quarantine for a day.
     *
     * @param tuning the id of what the trial is for
     * @param source the SHA-256 of the source of the kernel
     * @return the end of the trial, to be run if the process survived it; empty if the kernel is in
     *     quarantine, so that it must not be tried
     */
    public Optional<Runnable> beginTrial(Id tuning, Sha256 source) {
        requireOpen();
        Optional<RestoreQuarantine> quarantine = machine.quarantine();
        return quarantine.isEmpty()
                ? Optional.of(() -> {})
                : quarantine.get().beginTrial(tuning.hash(), source).map(trial -> trial::close);
    }

    /** Returns a snapshot of the counters. */
    public GranaryStatistics statistics() {
        Map<Counter, Long> counted = counters.snapshot();
        counted.putAll(tiers.local().counted());
        counted.putAll(memory.counted());
        return new GranaryStatistics(
                tiers.layers().stream().map(Layer::statistics).toList(), counted);
    }

    /**
     * Waits until everything is recorded, stored and uploaded, at most {@code limit}. An interrupt
     * ends the wait.
     *
     * @return true if all of this work has ended, successfully or not
     */
    public boolean flush(Duration limit) {
        requireOpen();
        return flushNow(limit);
    }

    /**
     * Waits for at most {@code limit} until the local tier has what was compiled; its uploads go
     * on. A program that obtains thousands of primitives at once thus keeps few of them in memory.
     *
     * @return true if all of it is stored
     */
    public boolean flushLocal(Duration limit) {
        requireOpen();
        try {
            return writeBehind.flushLocal(Deadline.after(limit)) == 0;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return false;
        }
    }

    /**
     * Records the use of an entry that the program got without a lookup, as a lookup does: the
     * buckets learn of it, and keep the entry.
     */
    public void noteUse(Id id) {
        requireOpen();
        uses.add(id);
    }

    /**
     * Tells the buckets now which entries this machine uses, instead of once an hour, and waits for
     * at most 10 s. Before that, a collection may remove entries without a recent use.
     */
    public void sendUseNotes() {
        requireOpen();
        uses.send();
    }

    private boolean flushNow(Duration limit) {
        try {
            Deadline deadline = Deadline.after(limit);
            boolean isStored = writeBehind.flush(deadline);
            return (recorder.isEmpty() || recorder.get().flush(deadline)) && isStored;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return false;
        }
    }

    /**
     * Flushes, for at most the configured flush limit, and closes the tiers. The next process does
     * the uploads that are left; those to a layer that did not answer lately are not waited for. A
     * recording that is not written yet, such as that of thousands of kernels obtained at once, is
     * awaited for at most 30 s more, and the notes of use of this machine, once an hour, for at
     * most the flush limit, but 2 s if that is shorter. Primitives and constants that were returned
     * to callers stay valid. Only constants in use remain cached. Statistics, sizes and capacities
     * can still be read; any other call throws {@link IllegalStateException}.
     */
    @Override
    public void close() {
        if (isClosed.compareAndSet(false, true)) {
            Deadline limit = Deadline.after(config.flushLimit());
            CompletableFuture<?> advice = adviseOnMisses();
            try {
                if (tiers.target().filter(Layer::isFailing).isEmpty()) {
                    flushNow(config.flushLimit());
                } else { // its uploads would fail as well
                    writeBehind.flushLocal(limit);
                }
                advice.get(limit.left(), TimeUnit.NANOSECONDS);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            } catch (ExecutionException | TimeoutException e) {
                // a process may end without advice
            }
            int left = uploads.map(UploadQueue::size).orElse(0);
            if (left > 0) {
                LOG.warn(
                        "Not uploaded to {}: {} so far; the next process with this local"
                                + " directory uploads the entries that are in it.",
                        tiers.target().orElseThrow().name(),
                        left);
            }
            uses.finish(true);
            closer.close();
            try {
                Runtime.getRuntime().removeShutdownHook(exitHook);
            } catch (IllegalStateException e) {
                // the process is ending
            }
        }
    }

    /** Begins to find out why no lookup hit in a layer, and logs it. */
    private CompletableFuture<Void> adviseOnMisses() {
        List<Tiers.Layer> layers = context.tiers().layers();
        return layers.isEmpty() || isFilling || statistics().count(Counter.FLEET_WAIT_HITS) > 0
                ? CompletableFuture.completedFuture(null)
                : CompletableFuture.runAsync(
                        () -> layers.forEach(layer -> MissAdvice.on(
                                        layer,
                                        tiers.target().filter(layer::equals).isPresent())
                                .ifPresent(text ->
                                        Warnings.warn(LOG, "misses " + layer.name(), text))),
                        Thread::startVirtualThread);
    }

    /**
     * Stores and records what is not stored and recorded yet, since the process ends without a
     * close. Closes nothing: a hook of the application may be about to close this cache.
     */
    private void finishAtExit() {
        try {
            if (!isClosed.get()) {
                recorder.ifPresent(KernelRecorder::finish);
                int lost = writeBehind.flushLocal(Deadline.after(config.flushLimit()));
                if (lost > 0) {
                    LOG.warn(
                            "The process ends without Granary.close(): {} kernels are not stored"
                                    + " after {} s, and will be compiled again.",
                            lost,
                            config.flushLimit().toSeconds());
                }
                uses.finish(false);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private void requireOpen() {
        if (isClosed.get()) {
            throw new IllegalStateException("This Granary is closed");
        }
    }

    /** Checks the target before a hit in memory, and the id below: it may not be computed yet. */
    private void require(Engine<?, ?> engine, PrimitiveDescriptor descriptor) {
        requireOpen();
        if (!descriptor.target().equals(engine.target())) {
            engine.requireTarget(descriptor);
        }
    }
}
