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
import dev.granary.cache.support.Ticker;
import dev.granary.coordinator.claim.ClaimCoordinator;
import dev.granary.coordinator.config.ConfigException;
import dev.granary.coordinator.config.GranaryConfig;
import dev.granary.coordinator.config.PublishMode;
import dev.granary.coordinator.lookup.CompileTimeEstimate;
import dev.granary.coordinator.lookup.LayeredLookup;
import dev.granary.coordinator.lookup.PrimitiveLookup;
import dev.granary.coordinator.publish.UploadRouter;
import dev.granary.coordinator.publish.WriteBehindQueue;
import dev.granary.coordinator.statistics.GranaryStatistics;
import dev.granary.coordinator.statistics.LookupCounters;
import dev.granary.coordinator.statistics.PrimitiveSource;
import dev.granary.coordinator.stores.OpenLayer;
import dev.granary.coordinator.stores.OpenStores;
import dev.granary.coordinator.stores.SilenceMonitor;
import dev.granary.gpu.KernelEngine;
import dev.granary.gpu.composite.CompositeCache;
import dev.granary.gpu.composite.CompositeDescriptor;
import dev.granary.gpu.composite.CompositeHandle;
import dev.granary.gpu.composite.EngineSet;
import dev.granary.local.claim.LocalClaims;
import dev.granary.s3.BucketTier;
import java.time.Duration;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.BiConsumer;

/**
 * Hands out primitives that are compiled once per fleet: from memory, from this machine's directory, from the buckets, and only then from the
 * compiler. Thread-safe; one per process is enough.
 *
 * <p>A look-up never fails because of a store, and never waits for one longer than its deadline; what goes wrong is counted in
 * {@link #statistics()}. Storing happens behind: the caller has its primitive at once.
 */
public final class Granary implements AutoCloseable {
    /** An id that nothing has: to ask for it is to connect. */
    private static final Id CONNECTING =
            Id.builder(new Target(Backend.OPENCL, "granary", "none", "none")).field("kind", "connect").build();

    private static final long LONGEST_SECONDS = TimeUnit.DAYS.toSeconds(365);

    private final GranaryConfig config;
    private final OpenStores stores;
    private final PrimitiveCache<PrimitiveDescriptor, Primitive> memory;
    private final CompositeCache composites;
    private final ConstantTensorCaches constants;
    private final LookupCounters counters = new LookupCounters();
    private final SilenceMonitor waits = new SilenceMonitor();
    private final LayeredLookup layers;
    private final UploadRouter uploads;
    private final WriteBehindQueue writeBehind;
    private final PrimitiveLookup lookUp;
    private final AtomicBoolean isClosed = new AtomicBoolean();

    private Granary(GranaryConfig config, OpenStores stores, PublishMode publishing, BiConsumer<Id, StoreResult> whenPublished) {
        this.config = config;
        this.stores = stores;
        this.memory = new PrimitiveCache<>(config.primitiveCacheCapacity(), config.primitiveCachePolicy());
        this.composites = new CompositeCache(new PrimitiveCache<>(config.primitiveCacheCapacity(), config.primitiveCachePolicy()), this::primitive);
        this.constants = new ConstantTensorCaches(config.constantLimits());
        this.layers = new LayeredLookup(stores.layers(), new CompileTimeEstimate(), config.bucketWait());
        this.uploads = new UploadRouter(stores.local(), stores.layers(), publishing, counters, waits);
        this.writeBehind = new WriteBehindQueue(stores.local(), uploads, counters, stores.clock(), whenPublished);
        Optional<ClaimCoordinator> wait = stores.claims().map(claims -> claimWait(claims, config.localWait(), counters));
        this.lookUp = new PrimitiveLookup(stores.local(), layers, stores.quarantine(), wait, writeBehind, counters);
        for (OpenLayer layer : stores.layers()) {
            if (layer.tier().cache() instanceof BucketTier bucket) {
                waits.watch(layer.name(), bucket.traffic()::quiet);
            }
        }
    }

    private static ClaimCoordinator claimWait(LocalClaims claims, Duration limit, LookupCounters counters) {
        return new ClaimCoordinator(claims::claim, limit, Ticker.SYSTEM, longest -> ThreadLocalRandom.current().nextLong(longest + 1),
                CompletableFuture.delayedExecutor(ClaimCoordinator.LAUNCH_GRACE.toNanos(), TimeUnit.NANOSECONDS), counters);
    }

    /**
     * Opens the local directory and names the buckets; asks none.
     *
     * @throws ConfigException if the configuration cannot work, with what to change
     */
    public static Granary open(GranaryConfig config) throws ConfigException {
        return open(config, PublishMode.ALONE, (_, _) -> {});
    }

    /**
     * Like {@link #open(GranaryConfig)}.
     *
     * @param whenPublished hears what became of each entry that was compiled or published here
     */
    public static Granary open(GranaryConfig config, PublishMode publishing, BiConsumer<Id, StoreResult> whenPublished) throws ConfigException {
        return over(config, OpenStores.open(config), publishing, whenPublished);
    }

    /** Like {@link #open(GranaryConfig, PublishMode, BiConsumer)}, over stores that are open. */
    public static Granary over(GranaryConfig config, OpenStores stores, PublishMode publishing, BiConsumer<Id, StoreResult> whenPublished) {
        return new Granary(config, stores, publishing, whenPublished);
    }

    /**
     * The primitive that {@code descriptor} describes, ready to be loaded into {@code engine}.
     *
     * @throws CompileException if nobody had it and its source does not compile
     */
    public <D extends PrimitiveDescriptor, P extends Primitive> P primitive(Engine<D, P> engine, D descriptor) throws CompileException {
        Primitive primitive = memory.get(descriptor, _ -> kept(lookUp.find(engine, descriptor).primitive()));
        return own(primitive);
    }

    /** Like {@link #primitive}, and tells where it came from and how long that took. */
    public <D extends PrimitiveDescriptor, P extends Primitive> LookupResult<P> obtain(Engine<D, P> engine, D descriptor)
            throws CompileException {
        long start = System.nanoTime();
        PrimitiveSource[] source = {PrimitiveSource.MEMORY};
        OptionalInt[] layer = {OptionalInt.empty()};
        Primitive primitive = memory.get(descriptor, _ -> {
            PrimitiveLookup.Found<P> found = lookUp.find(engine, descriptor);
            source[0] = found.source();
            layer[0] = found.layer();
            return kept(found.primitive());
        });
        return new LookupResult<>(own(primitive), source[0], layer[0], Duration.ofNanos(System.nanoTime() - start));
    }

    /**
     * The composite primitive that {@code descriptor} describes, ready to be run on {@code engine}; the caller closes the handle. The primitive
     * and what is nested in it are created once per process, their kernels come by the way of {@link #primitive}. Engines may come and go: one of
     * the same target finds the primitive, and nothing is compiled for it.
     *
     * @throws CompileException if a kernel does not compile
     * @throws IllegalArgumentException if the descriptor is for another target
     * @throws IllegalStateException if the primitive turns out to need itself, or the engine is closed
     */
    public CompositeHandle handle(KernelEngine<?> engine, CompositeDescriptor<?> descriptor) throws CompileException {
        return handle(EngineSet.of(engine), descriptor);
    }

    /** Like {@link #handle(KernelEngine, CompositeDescriptor)}, for a primitive between two engines, such as a reorder. */
    public CompositeHandle handle(EngineSet engines, CompositeDescriptor<?> descriptor) throws CompileException {
        return composites.handle(engines, descriptor);
    }

    /** What memory keeps is loaded into engines that do not exist yet. */
    private <P extends Primitive> P kept(P primitive) {
        primitive.onCompiledAgain(counters.compiledAgain::increment);
        primitive.outliveEngine();
        return primitive;
    }

    /**
     * Makes sure that the first bucket that may be written has the entry that the local tier has.
     *
     * @return true if the local tier has it and there is such a bucket; the upload happens behind
     */
    public boolean publish(Id id) {
        if (uploads.hasTarget() && stores.local().cache().load(id) instanceof LoadResult.Hit hit) {
            writeBehind.publish(hit.entry());
            return true;
        }
        return false;
    }

    /**
     * Makes the first connection to each bucket now instead of at the first miss: loading a client library takes a noticeable part of a
     * second. For programs that are about to look up many kernels; errors are left to the look-ups.
     */
    public void connect() {
        // At once: one that is silent must not keep the others waiting.
        stores.layers().parallelStream().forEach(layer -> {
            try {
                layer.tier().cache().load(CONNECTING);
            } catch (Throwable e) { // left to the look-ups, as documented
                LogOnce.warn("connect", "The first connection to " + layer.name() + " failed: " + e);
            }
        });
    }

    /**
     * Changes how much is kept in memory: so many composite primitives, and so many programs of kernels. Lowering evicts at once, 0 clears and
     * disables. A program that is evicted stays with the primitives that hold it.
     *
     * @throws IllegalArgumentException if {@code primitives} is negative
     */
    public void setPrimitiveCacheCapacity(int primitives) {
        composites.setCapacity(primitives);
        memory.setCapacity(primitives);
    }

    /**
     * The constant tensors of this process, by device, with the limits of the configuration until code sets others. For an OpenCL engine:
     * {@code new OpenClConstants(granary.constants(), engine)}.
     */
    public ConstantTensorCaches constants() {
        return constants;
    }

    /** The buckets that this may be waiting for, for tools that show progress. */
    public SilenceMonitor waits() {
        return waits;
    }

    /** What was done so far. */
    public GranaryStatistics statistics() {
        return new GranaryStatistics(
                composites.statistics(),
                memory.hits(),
                memory.misses(),
                stores.local().statistics().snapshot(),
                layers.statistics(),
                counters.compiled.sum(),
                counters.compiledAgain.sum(),
                counters.compileFailures.sum(),
                counters.notCacheable.sum(),
                counters.refusedByDriver.sum(),
                counters.recompiledByDriver.sum(),
                counters.quarantined.sum(),
                counters.withoutBinaries.sum(),
                counters.dropped.sum(),
                counters.leftForLater.sum(),
                counters.adopted.sum(),
                counters.waited.sum(),
                counters.waitsGivenUp.sum(),
                counters.claimsUnavailable.sum(),
                Duration.ofNanos(counters.compileNanos.sum()),
                Duration.ofNanos(counters.savedNanos.sum()));
    }

    /**
     * Waits until everything is stored and uploaded, at most {@code limit}; an interrupt ends the wait.
     *
     * @return true if nothing is left to be done
     */
    public boolean flush(Duration limit) {
        try {
            return writeBehind.flush(System.nanoTime() + Math.min(limit.toSeconds(), LONGEST_SECONDS) * 1_000_000_000 + limit.toNanosPart());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return false;
        }
    }

    /**
     * Flushes, at most as long as the configuration says, and closes the tiers. What was not uploaded is uploaded by the next process.
     * Primitives and constants that were handed out stay valid; of the constants, nothing more is kept than what is in use.
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

    /** A descriptor belongs to one kind of engine, so what was cached for it is what that engine makes. */
    @SuppressWarnings({"unchecked", "TypeParameterUnusedInFormals"})
    private static <P extends Primitive> P own(Primitive primitive) {
        return (P) primitive;
    }
}
