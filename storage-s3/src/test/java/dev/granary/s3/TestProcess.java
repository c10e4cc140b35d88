package dev.granary.s3;

import dev.granary.cache.Id;
import dev.granary.cache.support.Lazy;
import dev.granary.cache.support.Ticker;
import dev.granary.s3.config.S3Config;
import dev.granary.s3.layout.BucketLayout;
import dev.granary.s3.pack.PackInspector;
import dev.granary.s3.pack.PackReader;
import dev.granary.s3.probe.CapabilityMarker;
import dev.granary.s3.probe.ConditionalWriteSupport;
import dev.granary.s3.store.ObjectStore;

import java.lang.reflect.Field;
import java.time.Duration;
import java.util.concurrent.Executor;
import java.util.function.Consumer;
import java.util.function.LongSupplier;
import java.util.random.RandomGenerator;

/**
 * The bucket tier and the bulk bucket of one process, with clocks and threads of the test, for
 * tests of other packages.
 */
public final class TestProcess implements AutoCloseable {
    private final BucketTier tier;
    private final BulkBucket packed;
    private final BucketLayout layout;

    /**
     * The environment of a process.
     *
     * @param nanos the monotonic clock
     * @param wallMillis the wall clock
     * @param pause waits for the given time
     * @param random the source of names; shared by several threads when a node is warmed
     * @param behind the executor of background tasks
     */
    public record Environment(
            LongSupplier nanos,
            LongSupplier wallMillis,
            Consumer<Duration> pause,
            RandomGenerator random,
            Executor behind) {}

    /** Starts a process whose requests all go to {@code store}. */
    public TestProcess(S3Config config, ObjectStore store, Environment environment) {
        Ticker ticker = new Ticker() {
            @Override
            public long nanos() {
                return environment.nanos().getAsLong();
            }

            @Override
            public void pause(Duration duration) {
                environment.pause().accept(duration);
            }
        };
        this.tier = new BucketTier(config, _ -> store, ticker, environment.random());
        this.packed = new BulkBucket(config, _ -> store, ticker, environment.random());
        this.layout = new BucketLayout(config.location());
        PackInspector.control(packs(tier), environment.wallMillis(), environment.behind());
    }

    private static PackReader packs(BucketTier tier) {
        try {
            Field field = BucketTier.class.getDeclaredField("packs");
            field.setAccessible(true);
            return (PackReader) ((Lazy<?>) field.get(tier)).get();
        } catch (NoSuchFieldException | IllegalAccessException e) {
            throw new IllegalStateException("BucketTier was changed: adapt this class", e);
        }
    }

    /** Returns the tier of lookups and of unpacked entries. */
    public BucketTier tier() {
        return tier;
    }

    /** Returns the bucket for transfers of packs. */
    public BulkBucket packed() {
        return packed;
    }

    /** Returns a collector that sends one request at a time. */
    public BucketCollector collector() {
        return packed.sequentialCollector();
    }

    /** Returns the key of an unpacked entry. */
    public String unpackedKey(Id id) {
        return layout.entry(id);
    }

    /** Returns the key of the marker. */
    public static String markerKey(S3Config config) {
        return new BucketLayout(config.location()).marker();
    }

    /** Returns the body of a marker with these capabilities. */
    public static byte[] marker(S3Config config, ConditionalWriteSupport writes) {
        boolean isFull = writes == ConditionalWriteSupport.FULL;
        return CapabilityMarker.known(config, new CapabilityMarker.Verdict(writes, isFull), 0)
                .json();
    }

    @Override
    public void close() {
        tier.close();
        packed.close();
    }
}
