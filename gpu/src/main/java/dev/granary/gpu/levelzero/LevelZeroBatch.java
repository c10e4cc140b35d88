package dev.granary.gpu.levelzero;

import dev.granary.gpu.Geometry;
import dev.granary.gpu.levelzero.binding.CommandCalls;
import dev.granary.gpu.levelzero.binding.GroupShape;
import dev.granary.gpu.lifetime.NativeHandle;
import dev.granary.gpu.lifetime.Releases;
import dev.granary.gpu.lifetime.SharedHandle;

import java.util.ArrayList;
import java.util.List;

/**
 * Launches that are recorded once and run any number of times, each in order. The driver prepares
 * them at recording, so that a run costs one call. Obtained from {@link LevelZeroEngine#batch}. Not
 * thread-safe.
 *
 * <p>Numbers are copied at recording. The memory of buffers, and the kernels, are kept until this
 * batch is closed; the content of the buffers is read at each run.
 */
public final class LevelZeroBatch implements AutoCloseable {
    private final LevelZeroEngine engine;
    private final CommandCalls calls;
    private final NativeHandle queue;
    private final NativeHandle list;
    private final HeldBuffers buffers;
    private final List<NativeKernel> kernels = new ArrayList<>();
    private final List<SharedHandle> modules = new ArrayList<>();
    private boolean isRecorded;
    private boolean isClosed;

    /** Creates an empty batch. Requires a lease. */
    LevelZeroBatch(LevelZeroEngine engine) {
        this.engine = engine;
        ZeContext context = engine.context();
        this.calls = context.calls().commands();
        this.buffers = new HeldBuffers(engine);
        long device = context.device().handle();
        this.queue = context.own(
                "command queue",
                calls.createQueue(context.handle(), device, context.queueGroup()),
                calls::destroyQueue);
        try {
            this.list = context.own(
                    "command list",
                    calls.createList(context.handle(), device, context.queueGroup()),
                    calls::destroyList);
        } catch (RuntimeException | Error e) {
            queue.release();
            throw e;
        }
    }

    /**
     * Records a launch, which starts after the launches before it have ended.
     *
     * @param from loaded kernels of the same engine; they may be closed afterwards
     * @param arguments as for {@link LevelZeroKernels#launch}
     * @throws IllegalArgumentException if the kernels or a buffer belong to another engine, or the
     *     arguments or the geometry do not fit
     * @throws IllegalStateException if this batch has run, or it, the kernels, a buffer or the
     *     engine is closed
     * @throws dev.granary.gpu.DriverException if the driver refuses; the batch must be closed then
     */
    public void launch(
            LevelZeroKernels from, String kernel, Geometry geometry, Object... arguments) {
        checkOpen();
        if (isRecorded) {
            throw new IllegalStateException("A batch that has run takes no further launches");
        }
        if (from.engine() != engine) {
            throw new IllegalArgumentException(
                    "The kernels belong to another engine, on " + from.engine().device());
        }
        try (var _ = engine.context().lease()) {
            NativeModule module = from.module();
            if (!module.handle().retain()) {
                throw new IllegalStateException("The kernels are closed");
            }
            modules.add(module.handle());
            // of its own: the driver may read it until the list is destroyed
            NativeKernel launched = NativeKernel.create(engine.context(), module, kernel);
            kernels.add(launched);
            GroupShape groups = launched.prepare(geometry, arguments, buffers);
            calls.appendLaunch(list.get(), launched.handle().get(), groups, 0);
            calls.appendBarrier(list.get());
        }
    }

    /**
     * Runs all launches and waits for their end. After the first run, no launch can be added.
     *
     * @throws IllegalStateException if this batch or the engine is closed
     * @throws dev.granary.gpu.DriverException if the driver refuses, or a launch fails
     */
    public void run() {
        checkOpen();
        try (var _ = engine.context().lease()) {
            if (!isRecorded) {
                calls.closeList(list.get());
                isRecorded = true;
            }
            calls.execute(queue.get(), list.get());
        }
    }

    @Override
    public void close() {
        if (!isClosed) {
            isClosed = true;
            List<Runnable> releases = new ArrayList<>(List.of(list::release, queue::release));
            kernels.forEach(kernel -> releases.add(kernel.handle()::release));
            modules.forEach(module -> releases.add(module::release));
            releases.add(buffers::close);
            Releases.perform(releases);
        }
    }

    private void checkOpen() {
        if (isClosed) {
            throw new IllegalStateException("The batch is closed");
        }
    }
}
