package dev.granary.cache.constant;

import dev.granary.cache.build.StackReserve;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.LongSupplier;

/**
 * The constant tensor caches of a process: one for each device, of all back-ends together, each with a budget of its own. Thread-safe.
 *
 * <p>A limit that is set for a kind of engine holds for each of its devices by itself, not for all of them together. Setting one flushes the
 * caches that it holds for if it is lower than the one before; so does the first number after no limit, while a higher or the same number
 * flushes nothing. Of a limit for a kind and one for a device, the one that was set last holds.
 */
public final class ConstantTensorCaches implements AutoCloseable {
    private static final ConstantLimit NOTHING = new ConstantLimit(0, ConstantPolicy.NO_EVICT);

    private final Map<Device, ConstantTensorCache> caches = new ConcurrentHashMap<>(); // changed under the monitor only
    private final Map<EngineKind, ConstantLimit> limits = new EnumMap<>(EngineKind.class); // guarded by this
    private final Map<Device, ConstantLimit> ofDevices = new HashMap<>(); // guarded by this; where a device's own was set last
    private final LongSupplier nanos;
    private final Duration longestWait;
    private boolean isClosed; // guarded by this

    private record Device(EngineKind kind, int index) {
        Device {
            if (index < 0) {
                throw new IllegalArgumentException("The index of a device must be 0 or more, not " + index);
            }
        }
    }

    /**
     * Empty caches.
     *
     * @param configured the limits of kinds, as far as they are not {@link ConstantLimit#DEFAULT}
     */
    public ConstantTensorCaches(ConstantLimits configured) {
        this(configured, System::nanoTime, ConstantTensorCache.LONGEST_WAIT);
    }

    ConstantTensorCaches(ConstantLimits configured, LongSupplier nanos, Duration longestWait) {
        for (EngineKind kind : EngineKind.values()) {
            limits.put(kind, configured.of(kind).orElse(ConstantLimit.DEFAULT));
        }
        this.nanos = nanos;
        this.longestWait = longestWait;
    }

    /**
     * The cache of a device.
     *
     * @param index its number among the devices of that kind, from 0
     */
    public ConstantTensorCache of(EngineKind kind, int index) {
        Device device = new Device(kind, index);
        ConstantTensorCache known = caches.get(device);
        return known != null ? known : create(device);
    }

    private synchronized ConstantTensorCache create(Device device) {
        ConstantLimit own = ofDevices.get(device);
        ConstantLimit limit = own == null ? limitOf(device.kind) : own;
        return caches.computeIfAbsent(device, _ -> new ConstantTensorCache(limit, nanos, longestWait));
    }

    /** Like {@link #setCapacity(EngineKind, long, ConstantPolicy)}, with the policy as it is. */
    public void setCapacity(EngineKind kind, long megabytes) {
        setCapacity(kind, megabytes, limit(kind).policy());
    }

    /**
     * Sets the budget of each device of a kind.
     *
     * @param megabytes in units of 1,048,576 bytes; 0 clears and disables; {@link ConstantLimit#UNLIMITED} is no limit
     * @throws IllegalArgumentException if {@code megabytes} is negative
     * @throws IllegalStateException if these caches are closed
     */
    public void setCapacity(EngineKind kind, long megabytes, ConstantPolicy policy) {
        ConstantLimit limit = new ConstantLimit(megabytes, policy);
        StackReserve.require();
        List<RefCountedTensor<?>> left = new ArrayList<>();
        try {
            synchronized (this) {
                checkOpen();
                limits.put(kind, limit);
                ofDevices.keySet().removeIf(device -> device.kind == kind);
                caches.forEach((device, cache) -> {
                    if (device.kind == kind) {
                        cache.change(limit, left);
                    }
                });
            }
        } finally {
            left.forEach(RefCountedTensor::leave);
        }
    }

    /** Like {@link #setCapacity(EngineKind, int, long, ConstantPolicy)}, with the policy as it is. */
    public void setCapacity(EngineKind kind, int index, long megabytes) {
        setCapacity(kind, index, megabytes, limit(kind, index).policy());
    }

    /**
     * Sets the budget of one device, whether it has been used already or not.
     *
     * @param index its number among the devices of that kind, from 0
     * @param megabytes in units of 1,048,576 bytes; 0 clears and disables; {@link ConstantLimit#UNLIMITED} is no limit
     * @throws IllegalArgumentException if {@code index} or {@code megabytes} is negative
     * @throws IllegalStateException if these caches are closed
     */
    public void setCapacity(EngineKind kind, int index, long megabytes, ConstantPolicy policy) {
        Device device = new Device(kind, index);
        ConstantLimit limit = new ConstantLimit(megabytes, policy);
        StackReserve.require();
        List<RefCountedTensor<?>> left = new ArrayList<>();
        try {
            synchronized (this) {
                checkOpen();
                ofDevices.put(device, limit);
                ConstantTensorCache cache = caches.get(device);
                if (cache != null) {
                    cache.change(limit, left);
                }
            }
        } finally {
            left.forEach(RefCountedTensor::leave);
        }
    }

    /** The budget in MB that was set last for a kind; {@link ConstantLimit#UNLIMITED} where none was. */
    public long getCapacity(EngineKind kind) {
        return limit(kind).megabytes();
    }

    /** The budget of a device in MB; {@link ConstantLimit#UNLIMITED} where there is none. */
    public long getCapacity(EngineKind kind, int index) {
        return limit(kind, index).megabytes();
    }

    /** What was set last for a kind. */
    public synchronized ConstantLimit limit(EngineKind kind) {
        return limitOf(kind);
    }

    /** What holds for a device. */
    public synchronized ConstantLimit limit(EngineKind kind, int index) {
        ConstantLimit own = ofDevices.get(new Device(kind, index));
        return own == null ? limitOf(kind) : own;
    }

    /** What all devices' caches have done and hold. */
    public ConstantStatistics statistics() {
        return caches.values().stream().map(ConstantTensorCache::statistics).reduce(ConstantStatistics.NOTHING, ConstantStatistics::plus);
    }

    /** Flushes all caches, and keeps nothing from now on. What users hold stays theirs. */
    @Override
    public void close() {
        List<RefCountedTensor<?>> left = new ArrayList<>();
        try {
            synchronized (this) {
                isClosed = true;
                limits.replaceAll((_, _) -> NOTHING);
                ofDevices.clear();
                caches.values().forEach(cache -> cache.change(NOTHING, left));
            }
        } finally {
            left.forEach(RefCountedTensor::leave);
        }
    }

    private void checkOpen() {
        if (isClosed) {
            throw new IllegalStateException("The constant tensor caches are closed");
        }
    }

    private ConstantLimit limitOf(EngineKind kind) {
        return limits.getOrDefault(kind, ConstantLimit.DEFAULT);
    }
}
