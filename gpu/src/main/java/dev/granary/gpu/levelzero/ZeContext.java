package dev.granary.gpu.levelzero;

import dev.granary.gpu.DriverException;
import dev.granary.gpu.engine.EngineLifetime;
import dev.granary.gpu.engine.NativeHandle;
import dev.granary.gpu.levelzero.binding.ContextCalls;
import dev.granary.gpu.levelzero.binding.KernelCalls;
import dev.granary.gpu.levelzero.binding.ModuleCalls;
import dev.granary.gpu.levelzero.binding.ZeLibrary;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.util.function.LongConsumer;

/** The native context of one engine, which owns the native objects in it. Thread-safe. */
final class ZeContext {
    private static final Logger LOG = LoggerFactory.getLogger(ZeContext.class);

    private final LevelZeroDevice device;
    // the native calls by subject
    final ContextCalls contexts;
    final ModuleCalls modules;
    final KernelCalls kernels;
    private final int queueGroup;
    private final long context;
    private final boolean isOwn;
    private final EngineLifetime lifetime;

    private ZeContext(LevelZeroDevice device, long ofApplication) {
        this.device = device;
        ZeLibrary library = device.binding();
        this.contexts = new ContextCalls(library);
        this.modules = new ModuleCalls(library);
        this.kernels = new KernelCalls(library);
        this.queueGroup = device.computeQueueGroup();
        this.isOwn = ofApplication == 0;
        this.context = isOwn ? contexts.create(device.driver()) : ofApplication;
        this.lifetime = new EngineLifetime(device.toString());
    }

    /**
     * Creates a context.
     *
     * @throws DriverException if the driver refuses
     * @throws IllegalStateException if the device executes no kernels
     */
    static ZeContext open(LevelZeroDevice device) {
        return new ZeContext(device, 0);
    }

    /** Returns a context of the application, which is not destroyed. */
    static ZeContext wrap(LevelZeroDevice device, long context) {
        return new ZeContext(device, context);
    }

    LevelZeroDevice device() {
        return device;
    }

    int queueGroup() {
        return queueGroup;
    }

    /** Returns the native context. */
    long handle() {
        return context;
    }

    EngineLifetime lifetime() {
        return lifetime;
    }

    /**
     * Starts a use of native objects.
     *
     * @throws IllegalStateException if the engine is closed
     */
    EngineLifetime.Lease lease() {
        return lifetime.lease();
    }

    /**
     * Takes ownership of a native object. Requires a lease.
     *
     * @param description the object's name in messages
     * @param destroyer destroys it; a failure is logged
     */
    NativeHandle own(String description, long object, LongConsumer destroyer) {
        return new NativeHandle(
                lifetime, description, object, handle -> destroy(description, handle, destroyer));
    }

    /** Destroys the context if it was created here. Requires that its objects were destroyed. */
    void destroy() {
        if (isOwn) {
            destroy("context", context, contexts::destroy);
        }
    }

    private static void destroy(String description, long object, LongConsumer destroyer) {
        try {
            destroyer.accept(object);
        } catch (DriverException e) { // such as a lost device: there is nothing left to release
            LOG.warn(
                    "A native object ({}) could not be destroyed: {}", description, e.getMessage());
        }
    }
}
