package dev.granary.coordinator;

import dev.granary.cache.Backend;
import dev.granary.cache.CompileException;
import dev.granary.cache.Engine;
import dev.granary.cache.Id;
import dev.granary.cache.Primitive;
import dev.granary.cache.PrimitiveDescriptor;
import dev.granary.cache.StoreResult;
import dev.granary.cache.constant.ConstantTensorCaches;
import dev.granary.cache.constant.EngineKind;
import dev.granary.coordinator.config.ConfigException;
import dev.granary.coordinator.config.GranaryConfig;
import dev.granary.coordinator.config.LibraryVersion;
import dev.granary.coordinator.config.PublishMode;
import dev.granary.coordinator.dispatch.EventDispatcher;
import dev.granary.coordinator.event.GranaryListener;
import dev.granary.coordinator.layer.RemoteLayers;
import dev.granary.coordinator.lookup.LookupTiers;
import dev.granary.coordinator.lookup.PrimitiveLookup;
import dev.granary.coordinator.publish.WriteBehindQueue;
import dev.granary.coordinator.recording.KernelRecorder;
import dev.granary.coordinator.statistics.GranaryStatistics;
import dev.granary.coordinator.statistics.LookupCounter;
import dev.granary.coordinator.statistics.LookupCounters;
import dev.granary.coordinator.statistics.PrimitiveSource;
import dev.granary.coordinator.stores.OpenStores;
import dev.granary.coordinator.stores.SilenceMonitor;
import dev.granary.gpu.KernelEngine;
import dev.granary.gpu.composite.CompositeDescriptor;
import dev.granary.gpu.composite.CompositePrimitive;
import dev.granary.gpu.composite.EngineSet;

import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.BiConsumer;

/**
 * Cache of primitives that are compiled once per fleet. A lookup searches the memory, the local
 * directory and the buckets, and compiles only if all of them miss. Thread-safe; one instance per
 * process is enough.
 *
 * <p>A lookup never fails because of a store, and never waits for one longer than its deadline.
 * Failures are counted in {@link #statistics()}. Entries are stored by write-behind, after the
 * caller has its primitive.
 */
public final class Granary implements AutoCloseable {
    /** The longest wait; the deadline of a longer one would overflow. */
    private static final Duration MAX_FLUSH = Duration.ofDays(365);

    private final GranaryConfig config;
    private final OpenStores stores;
    private final MemoryTier memory;
    private final ConstantTensorCaches constants;
    private final LookupCounters counters = new LookupCounters();
    private final SilenceMonitor waits = new SilenceMonitor();
    private final RemoteLayers layers;
    private final WriteBehindQueue writeBehind;
    private final LookupTiers tiers;
    private final TunedPlans plans;
    private final Optional<KernelRecorder> recorder;
    private final EventDispatcher events;
    private final AtomicBoolean isClosed = new AtomicBoolean();

    Granary(
            GranaryConfig config,
            OpenStores opened,
            PublishMode publishing,
            BiConsumer<Id, StoreResult> whenPublished,
            List<GranaryListener> listeners) {
        this.config = config;
        this.events = new EventDispatcher(listeners, counters);
        this.stores = opened.withEvents(events);
        this.constants = new ConstantTensorCaches(config.constantLimits());
        this.layers = RemoteLayers.open(stores, config.bucketWait(), publishing, counters, waits);
        this.writeBehind = new WriteBehindQueue(
                stores.local(), layers, counters, stores.clock(), (id, result) -> plans().published(
                                id, result));
        this.tiers = LookupTiers.over(config, stores, layers, writeBehind, counters, events);
        stores.setEvictionListener(
                () -> events.beginEviction(stores.local().name(), counters, LookupCounter.EVICTED));
        this.recorder = config.recording().map(file -> new KernelRecorder(file, counters));
        this.memory = new MemoryTier(config, this::primitive, counters, recorder, events);
        this.plans = new TunedPlans(tiers, memory, whenPublished);
        stores.watchTraffic(waits);
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
        return open(config, PublishMode.UNPACKED, (_, _) -> {});
    }

    /**
     * Opens a cache.
     *
     * @param whenPublished receives the result for each entry that this instance compiled or
     *     published
     */
    public static Granary open(
            GranaryConfig config, PublishMode publishing, BiConsumer<Id, StoreResult> whenPublished)
            throws ConfigException {
        KernelRecorder.check(config);
        return over(config, OpenStores.open(config), publishing, whenPublished);
    }

    /** Creates a cache over open stores. */
    public static Granary over(
            GranaryConfig config,
            OpenStores stores,
            PublishMode publishing,
            BiConsumer<Id, StoreResult> whenPublished) {
        return new Granary(config, stores, publishing, whenPublished, List.of());
    }

    /**
     * Returns the primitive of {@code descriptor}, ready to be loaded into {@code engine}.
     *
     * @throws CompileException if no tier had the primitive and its source does not compile
     */
    public <D extends PrimitiveDescriptor, P extends Primitive> P primitive(
            Engine<D, P> engine, D descriptor) throws CompileException {
        if (events.observesMemoryHits()) {
            return obtain(engine, descriptor).primitive();
        }
        return memory.program(tiers, engine, descriptor);
    }

    /** Returns the same as {@link #primitive}, with its source and the time of the lookup. */
    public <D extends PrimitiveDescriptor, P extends Primitive> LookupResult<P> obtain(
            Engine<D, P> engine, D descriptor) throws CompileException {
        long start = System.nanoTime();
        PrimitiveLookup<D, P> lookup = tiers.lookup(engine, descriptor);
        P primitive = memory.program(lookup, descriptor);
        if (lookup.source() == PrimitiveSource.MEMORY && events.observesMemoryHits()) {
            events.memoryHit(primitive, System.nanoTime() - start);
        }
        return new LookupResult<>(
                primitive,
                lookup.source(),
                lookup.layer(),
                lookup.from(),
                Duration.ofNanos(System.nanoTime() - start));
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
    public CompositePrimitive primitive(KernelEngine<?> engine, CompositeDescriptor<?> descriptor)
            throws CompileException {
        return primitive(EngineSet.of(engine), descriptor);
    }

    /** Returns the composite primitive of a descriptor for two engines, such as a reorder. */
    public CompositePrimitive primitive(EngineSet engines, CompositeDescriptor<?> descriptor)
            throws CompileException {
        return memory.composite(engines, descriptor);
    }

    /**
     * Publishes a stored entry in the first writable bucket, in the background: that of the local
     * tier, else that of the layers. The listener for publications receives the result.
     *
     * @return false if no layer is writable
     */
    public boolean publish(Id id) {
        if (layers.isWritable()) {
            writeBehind.publish(id);
        }
        return layers.isWritable();
    }

    /**
     * Opens the first connection to each bucket now instead of at the first miss: loading a client
     * library takes a noticeable part of a second. For programs that are about to look up many
     * kernels. A plugged layer gets a lookup of an unknown id. Errors are left to the lookups.
     */
    public void connect() {
        stores.connect();
    }

    /** Returns the version of this library, such as {@code 0.1.0}. */
    public static String version() {
        return LibraryVersion.NUMBER;
    }

    /**
     * Returns true if primitives of engines of this backend and kind are cached beyond memory. An
     * engine that is no {@link KernelEngine} has no kind, and is disabled with its backend only.
     */
    public boolean isEnabled(Backend backend, EngineKind kind) {
        return tiers.enabled().isEnabled(backend, kind);
    }

    /**
     * Enables or disables the tiers beyond memory for engines of this backend and kind, from the
     * next lookup that misses in memory. A lookup of a disabled engine compiles, and counts as
     * {@link LookupCounter#DISABLED}; nothing is loaded or stored. Stores and uploads of earlier
     * lookups go on, and stored entries stay.
     */
    public void setEnabled(Backend backend, EngineKind kind, boolean isEnabled) {
        tiers.enabled().setEnabled(backend, kind, isEnabled);
    }

    /** Enables or disables the tiers beyond memory for all engines. */
    public void setEnabled(boolean isEnabled) {
        tiers.enabled().setEnabled(isEnabled);
    }

    /** Returns the directory of this cache; with the capacity 0 at its opening it is not used. */
    public Path localDirectory() {
        return config.directory();
    }

    /**
     * Does nothing for the current directory, and throws for any other: claims, uploads and
     * quarantine of this process are in the directory, so it cannot change while the cache is open.
     *
     * @throws UnsupportedOperationException if {@code directory} is another one
     */
    public void setLocalDirectory(Path directory) {
        if (!directory.toAbsolutePath().normalize().equals(config.directory())) {
            throw new UnsupportedOperationException("The directory of an open cache cannot change;"
                    + " close this one, and open another with"
                    + " GranaryConfig.builder().directory(...)");
        }
    }

    /** Returns the capacity of the local tier in bytes, 0 if off; empty if it is plugged in. */
    public OptionalLong localCapacity() {
        return stores.localCapacity();
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
        if (isClosed.get()) {
            throw new IllegalStateException("This cache is closed");
        }
        stores.setLocalCapacity(bytes);
    }

    /** Returns the capacity of the memory tier in programs. */
    public int programCacheCapacity() {
        return memory.programCapacity();
    }

    /** Returns the number of programs in the memory tier. */
    public int programCacheSize() {
        return memory.programCount();
    }

    /**
     * Sets the capacity of the memory tier in programs. A lower one evicts at once; 0 clears and
     * disables this level.
     *
     * @throws IllegalArgumentException if {@code programs} is negative
     */
    public void setProgramCacheCapacity(int programs) {
        memory.setProgramCapacity(programs);
    }

    /** Returns the capacity of the memory tier in composite primitives. */
    public int compositeCacheCapacity() {
        return memory.composites().capacity();
    }

    /** Returns the number of composite primitives in the memory tier. */
    public int compositeCacheSize() {
        return memory.composites().size();
    }

    /**
     * Sets the capacity of the memory tier in composite primitives. A lower one evicts at once; 0
     * clears and disables this level.
     *
     * @throws IllegalArgumentException if {@code primitives} is negative
     */
    public void setCompositeCacheCapacity(int primitives) {
        memory.setCompositeCapacity(primitives);
    }

    /**
     * Sets the capacity of the memory tier: the number of composite primitives, and the number of
     * programs. A lower capacity evicts at once; 0 clears and disables the tier. An evicted program
     * stays in the primitives that contain it.
     *
     * @throws IllegalArgumentException if {@code primitives} is negative
     */
    public void setPrimitiveCacheCapacity(int primitives) {
        memory.setCompositeCapacity(primitives);
        memory.setProgramCapacity(primitives);
    }

    /**
     * Returns the constant tensors of this process, by device. The limits are those of the
     * configuration until code sets others. For an OpenCL engine: {@code new
     * OpenClConstants(granary.constants(), engine)}.
     */
    public ConstantTensorCaches constants() {
        return constants;
    }

    /** Returns the tuned plans of this cache. */
    public TunedPlans plans() {
        return plans;
    }

    /** Returns the monitor of the buckets that this cache may wait for, to show progress. */
    public SilenceMonitor waits() {
        return waits;
    }

    /** Returns a snapshot of the counters. */
    public GranaryStatistics statistics() {
        return new GranaryStatistics(
                memory.composites(),
                memory.programHits(),
                memory.programMisses(),
                stores.local().statistics().snapshot(),
                layers.statistics(),
                counters.snapshot());
    }

    /**
     * Waits until everything is recorded, stored and uploaded, at most {@code limit}. An interrupt
     * ends the wait.
     *
     * @return true if all of this work has ended, successfully or not
     */
    public boolean flush(Duration limit) {
        try {
            long deadline = System.nanoTime() + limited(limit).toNanos();
            boolean isStored = writeBehind.flush(deadline);
            return (recorder.isEmpty() || recorder.get().flush(deadline)) && isStored;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return false;
        }
    }

    /**
     * Flushes, for at most the configured flush limit, and closes the tiers. The next process does
     * the uploads that are left. A recording that is not written yet, such as that of thousands of
     * kernels obtained at once, is awaited for at most 30 s more. Primitives and constants that
     * were returned to callers stay valid. Only constants in use remain cached.
     */
    @Override
    public void close() {
        if (isClosed.compareAndSet(false, true)) {
            flush(config.flushLimit());
            recorder.ifPresent(KernelRecorder::close);
            writeBehind.close();
            layers.close();
            constants.close();
            stores.close(this::statistics);
            events.close(limited(config.flushLimit()));
        }
    }

    private static Duration limited(Duration limit) {
        return limit.compareTo(MAX_FLUSH) > 0 ? MAX_FLUSH : limit;
    }
}
