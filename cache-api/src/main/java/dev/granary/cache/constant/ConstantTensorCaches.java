package dev.granary.cache.constant;

import dev.granary.cache.constant.ConstantTensorCache.Limit;

import org.jspecify.annotations.Nullable;

import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.LongSupplier;

/**
 * The constant tensor caches of a process: one per device, shared by all back-ends, each with its
 * own budget. Thread-safe.
 *
 * <p>A limit for a kind of engine applies to each of its devices separately. Setting a lower limit
 * flushes the affected caches, and so does the first limit after none; a higher or equal limit
 * flushes nothing. Of a limit for a kind and one for a device, the one set last applies.
 */
public final class ConstantTensorCaches implements AutoCloseable {
    private static final Limit NOTHING = Limit.of(0);
    private static final Duration MAX_WAIT = Duration.ofSeconds(60); // for another's tensor

    // All guarded by this.
    private final Map<Device, ConstantTensorCache> caches = new HashMap<>();
    private final Map<EngineKind, Limit> limits = new EnumMap<>(EngineKind.class);
    private final Map<Device, Limit> deviceLimits = new HashMap<>();
    private final LongSupplier nanos;
    private final Duration maxWait;
    private boolean isClosed; // guarded by this

    /** A device of an engine kind, by its index. */
    private record Device(EngineKind kind, int index) {
        Device {
            if (index < 0) {
                throw new IllegalArgumentException(
                        "The index of a device must be 0 or more, not " + index);
            }
        }

        static Device of(ConstantDevice device) {
            return new Device(device.kind(), device.index());
        }
    }

    /**
     * Creates empty caches.
     *
     * @param configured the limits of kinds that differ from {@link Limit#DEFAULT}
     */
    public ConstantTensorCaches(ConstantLimits configured) {
        this(configured, System::nanoTime, MAX_WAIT);
    }

    ConstantTensorCaches(ConstantLimits configured, LongSupplier nanos, Duration maxWait) {
        limits.putAll(configured.chosen());
        this.nanos = nanos;
        this.maxWait = maxWait;
    }

    /**
     * Returns the cache of a device.
     *
     * @param index the index among the devices of that kind, from 0
     */
    public synchronized ConstantTensorCache of(EngineKind kind, int index) {
        Device device = new Device(kind, index);
        return caches.computeIfAbsent(
                device, _ -> new ConstantTensorCache(limitOf(device), nanos, maxWait));
    }

    /** Returns the cache of a device. */
    public ConstantTensorCache of(ConstantDevice device) {
        return of(device.kind(), device.index());
    }

    /**
     * Sets the limit of each device of a kind. The budget 0 clears and disables.
     *
     * @throws IllegalStateException if these caches are closed
     */
    public void setLimit(EngineKind kind, Limit limit) {
        setLimit(kind, null, limit);
    }

    /**
     * Sets the limit of one device, which need not have been used yet. The budget 0 clears and
     * disables.
     *
     * @throws IllegalArgumentException if the index of the device is negative
     * @throws IllegalStateException if these caches are closed
     */
    public void setLimit(ConstantDevice device, Limit limit) {
        setLimit(device.kind(), Device.of(device), limit);
    }

    /** Sets the limit of a device of a kind; if {@code only} is null, of all of that kind. */
    private void setLimit(EngineKind kind, @Nullable Device only, Limit limit) {
        List<Runnable> due = new ArrayList<>();
        try {
            synchronized (this) {
                if (isClosed) {
                    throw new IllegalStateException("The constant tensor caches are closed");
                }
                if (only == null) {
                    limits.put(kind, limit);
                    deviceLimits.keySet().removeIf(device -> device.kind == kind);
                } else {
                    deviceLimits.put(only, limit);
                }
                caches.forEach((device, cache) -> {
                    if (only == null ? device.kind == kind : device.equals(only)) {
                        cache.change(limit, due);
                    }
                });
            }
        } finally {
            due.forEach(Runnable::run);
        }
    }

    /** Returns the limit last set for a kind. */
    public synchronized Limit limit(EngineKind kind) {
        return limitOf(kind);
    }

    /** Returns the limit that applies to a device. */
    public synchronized Limit limit(ConstantDevice device) {
        return limitOf(Device.of(device));
    }

    /** Returns the sum of the statistics of all devices. */
    public synchronized ConstantTensorCache.Statistics statistics() {
        return caches.values().stream()
                .map(ConstantTensorCache::statistics)
                .reduce(
                        ConstantTensorCache.Statistics.NOTHING,
                        ConstantTensorCache.Statistics::plus);
    }

    /** Flushes all caches and disables them. Open holds stay valid. */
    @Override
    public void close() {
        List<Runnable> due = new ArrayList<>();
        try {
            synchronized (this) {
                isClosed = true;
                deviceLimits.clear();
                caches.values().forEach(cache -> cache.change(NOTHING, due));
            }
        } finally {
            due.forEach(Runnable::run);
        }
    }

    private Limit limitOf(Device device) {
        Limit own = deviceLimits.get(device);
        return own == null ? limitOf(device.kind) : own;
    }

    private Limit limitOf(EngineKind kind) {
        return isClosed ? NOTHING : limits.getOrDefault(kind, Limit.DEFAULT);
    }
}
