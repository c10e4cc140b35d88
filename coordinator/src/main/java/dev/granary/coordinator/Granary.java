package dev.granary.coordinator;

import dev.granary.cache.Backend;
import dev.granary.cache.CompileException;
import dev.granary.cache.Engine;
import dev.granary.cache.Id;
import dev.granary.cache.LoadResult;
import dev.granary.cache.Primitive;
import dev.granary.cache.PrimitiveDescriptor;
import dev.granary.cache.StoreResult;
import dev.granary.cache.Target;
import dev.granary.cache.constant.ConstantTensorCaches;
import dev.granary.cache.memory.PrimitiveCache;
import dev.granary.cache.support.LogOnce;
import dev.granary.coordinator.claim.ClaimCoordinator;
import dev.granary.coordinator.config.ConfigException;
import dev.granary.coordinator.config.GranaryConfig;
import dev.granary.coordinator.config.PublishMode;
import dev.granary.coordinator.layer.RemoteLayers;
import dev.granary.coordinator.lookup.LookupTiers;
import dev.granary.coordinator.lookup.PrimitiveLookup;
import dev.granary.coordinator.publish.WriteBehindQueue;
import dev.granary.coordinator.statistics.GranaryStatistics;
import dev.granary.coordinator.statistics.LookupCounter;
import dev.granary.coordinator.statistics.LookupCounters;
import dev.granary.coordinator.stores.OpenLayer;
import dev.granary.coordinator.stores.OpenStores;
import dev.granary.coordinator.stores.SilenceMonitor;
import dev.granary.gpu.KernelEngine;
import dev.granary.gpu.composite.CompositeCache;
import dev.granary.gpu.composite.CompositeDescriptor;
import dev.granary.gpu.composite.CompositeHandle;
import dev.granary.gpu.composite.EngineSet;

import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
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
    /** The id of no entry: a lookup of it opens the connection. */
    private static final Id CONNECT_ID = Id.builder(
                    new Target(Backend.OPENCL, "granary", "none", "none"))
            .field("kind", "connect")
            .build();

    private static final long MAX_FLUSH_SECONDS = TimeUnit.DAYS.toSeconds(365);

    private final GranaryConfig config;
    private final OpenStores stores;
    private final PrimitiveCache<PrimitiveDescriptor, Primitive> memory;
    private final CompositeCache composites;
    private final ConstantTensorCaches constants;
    private final LookupCounters counters = new LookupCounters();
    private final SilenceMonitor waits = new SilenceMonitor();
    private final RemoteLayers layers;
    private final WriteBehindQueue writeBehind;
    private final LookupTiers tiers;
    private final AtomicBoolean isClosed = new AtomicBoolean();

    private Granary(
            GranaryConfig config,
            OpenStores stores,
            PublishMode publishing,
            BiConsumer<Id, StoreResult> whenPublished) {
        this.config = config;
        this.stores = stores;
        this.memory = new PrimitiveCache<>(
                config.primitiveCacheCapacity(), config.primitiveCachePolicy());
        this.composites = new CompositeCache(
                new PrimitiveCache<>(
                        config.primitiveCacheCapacity(), config.primitiveCachePolicy()),
                this::primitive);
        this.constants = new ConstantTensorCaches(config.constantLimits());
        this.layers = RemoteLayers.open(
                stores.local(), stores.layers(), config.bucketWait(), publishing, counters, waits);
        this.writeBehind = new WriteBehindQueue(
                stores.local(), layers, counters, stores.clock(), whenPublished);
        Optional<ClaimCoordinator> coordinator = stores.claims()
                .map(claims -> ClaimCoordinator.over(claims, config.localWait(), counters));
        this.tiers = new LookupTiers(
                stores.local(), layers, stores.quarantine(), coordinator, writeBehind, counters);
        for (OpenLayer layer : stores.layers()) {
            layer.bucketTier()
                    .ifPresent(bucket -> waits.watch(layer.name(), bucket.traffic()::quiet));
        }
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
     * Opens a cache as {@link #open(GranaryConfig)} does.
     *
     * @param whenPublished receives the result for each entry that this instance compiled or
     *     published
     */
    public static Granary open(
            GranaryConfig config, PublishMode publishing, BiConsumer<Id, StoreResult> whenPublished)
            throws ConfigException {
        return over(config, OpenStores.open(config), publishing, whenPublished);
    }

    /**
     * Creates a cache as {@link #open(GranaryConfig, PublishMode, BiConsumer)} does, over open
     * stores.
     */
    public static Granary over(
            GranaryConfig config,
            OpenStores stores,
            PublishMode publishing,
            BiConsumer<Id, StoreResult> whenPublished) {
        return new Granary(config, stores, publishing, whenPublished);
    }

    /**
     * Returns the primitive of {@code descriptor}, ready to be loaded into {@code engine}.
     *
     * @throws CompileException if no tier had the primitive and its source does not compile
     */
    public <D extends PrimitiveDescriptor, P extends Primitive> P primitive(
            Engine<D, P> engine, D descriptor) throws CompileException {
        Primitive primitive = memory.get(
                descriptor, _ -> retain(tiers.lookup(engine, descriptor).find()));
        return cast(primitive);
    }

    /**
     * Returns the same as {@link #primitive}, with the source of the primitive and the time of the
     * lookup.
     */
    public <D extends PrimitiveDescriptor, P extends Primitive> LookupResult<P> obtain(
            Engine<D, P> engine, D descriptor) throws CompileException {
        long start = System.nanoTime();
        PrimitiveLookup<D, P> lookup = tiers.lookup(engine, descriptor);
        Primitive primitive = memory.get(descriptor, _ -> retain(lookup.find()));
        return new LookupResult<>(
                cast(primitive),
                lookup.source(),
                lookup.layer(),
                Duration.ofNanos(System.nanoTime() - start));
    }

    /**
     * Returns the composite primitive of {@code descriptor}, ready to run on {@code engine}; the
     * caller closes the handle. The primitive and its nested primitives are created once per
     * process, with kernels from {@link #primitive}. Engines may be closed and reopened: an engine
     * of the same target uses the same primitive without another compile.
     *
     * @throws CompileException if a kernel does not compile
     * @throws IllegalArgumentException if the descriptor is for another target
     * @throws IllegalStateException if the primitive depends on itself, or the engine is closed
     */
    public CompositeHandle handle(KernelEngine<?> engine, CompositeDescriptor<?> descriptor)
            throws CompileException {
        return handle(EngineSet.of(engine), descriptor);
    }

    /**
     * Returns a handle as {@link #handle(KernelEngine, CompositeDescriptor)} does, for a primitive
     * between two engines, such as a reorder.
     */
    public CompositeHandle handle(EngineSet engines, CompositeDescriptor<?> descriptor)
            throws CompileException {
        return composites.handle(engines, descriptor);
    }

    /**
     * Prepares a primitive for the memory tier, from which engines that do not exist yet will load
     * it.
     */
    private <P extends Primitive> P retain(P primitive) {
        primitive.onCompiledAgain(() -> counters.increment(LookupCounter.COMPILED_AGAIN));
        primitive.outliveEngine();
        return primitive;
    }

    /**
     * Publishes an entry of the local tier in the first writable bucket, in the background.
     *
     * @return true if the local tier has the entry and there is a writable bucket
     */
    public boolean publish(Id id) {
        if (layers.isWritable() && stores.local().cache().load(id) instanceof LoadResult.Hit hit) {
            writeBehind.publish(hit.entry());
            return true;
        }
        return false;
    }

    /**
     * Opens the first connection to each bucket now instead of at the first miss: loading a client
     * library takes a noticeable part of a second. For programs that are about to look up many
     * kernels. Errors are left to the lookups.
     */
    public void connect() {
        // In parallel: a silent bucket must not delay the others.
        stores.layers().parallelStream().forEach(layer -> {
            try {
                layer.tier().cache().load(CONNECT_ID);
            } catch (Throwable e) { // left to the lookups, as documented
                LogOnce.warn(
                        "connect", "The first connection to " + layer.name() + " failed: " + e);
            }
        });
    }

    /**
     * Sets the capacity of the memory tier: the number of composite primitives, and the number of
     * programs. A lower capacity evicts at once; 0 clears and disables the tier. An evicted program
     * stays in the primitives that contain it.
     *
     * @throws IllegalArgumentException if {@code primitives} is negative
     */
    public void setPrimitiveCacheCapacity(int primitives) {
        composites.setCapacity(primitives);
        memory.setCapacity(primitives);
    }

    /**
     * Returns the constant tensors of this process, by device. The limits are those of the
     * configuration until code sets others. For an OpenCL engine: {@code new
     * OpenClConstants(granary.constants(), engine)}.
     */
    public ConstantTensorCaches constants() {
        return constants;
    }

    /**
     * Returns the monitor of the buckets that this cache may wait for, for tools that show
     * progress.
     */
    public SilenceMonitor waits() {
        return waits;
    }

    /** Returns a snapshot of the counters. */
    public GranaryStatistics statistics() {
        return new GranaryStatistics(
                composites.statistics(),
                memory.hits(),
                memory.misses(),
                stores.local().statistics().snapshot(),
                layers.statistics(),
                counters.snapshot());
    }

    /**
     * Waits until everything is stored and uploaded, at most {@code limit}. An interrupt ends the
     * wait.
     *
     * @return true if nothing is left to store or upload
     */
    public boolean flush(Duration limit) {
        try {
            return writeBehind.flush(System.nanoTime()
                    + Math.min(limit.toSeconds(), MAX_FLUSH_SECONDS) * 1_000_000_000
                    + limit.toNanosPart());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return false;
        }
    }

    /**
     * Flushes, for at most the configured flush limit, and closes the tiers. The next process does
     * the uploads that are left. Primitives and constants that were returned to callers stay valid.
     * Only constants in use remain cached.
     */
    @Override
    public void close() {
        if (isClosed.compareAndSet(false, true)) {
            flush(config.flushLimit());
            writeBehind.close();
            layers.close();
            constants.close();
            stores.close(statistics());
        }
    }

    /**
     * Casts a cached primitive to the type of the engine: a descriptor belongs to one kind of
     * engine.
     */
    @SuppressWarnings({"unchecked", "TypeParameterUnusedInFormals"})
    private static <P extends Primitive> P cast(Primitive primitive) {
        return (P) primitive;
    }
}
