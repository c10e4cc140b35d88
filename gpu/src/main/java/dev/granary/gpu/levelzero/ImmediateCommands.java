package dev.granary.gpu.levelzero;

import dev.granary.gpu.engine.NativeHandle;
import dev.granary.gpu.levelzero.binding.ContextCalls;

import java.util.concurrent.ConcurrentLinkedDeque;
import java.util.function.LongConsumer;

/**
 * The immediate command lists of one engine. Each is synchronous and used by one thread at a time,
 * so that no command waits for those of other threads. Thread-safe.
 */
final class ImmediateCommands {
    private final ZeContext context;
    private final ConcurrentLinkedDeque<NativeHandle> idle = new ConcurrentLinkedDeque<>();

    ImmediateCommands(ZeContext context) {
        this.context = context;
    }

    /**
     * Runs a command and waits for its end. Requires a lease.
     *
     * @param command appends the command to a list
     * @throws dev.granary.gpu.DriverException if the driver refuses it, or it fails
     */
    void run(LongConsumer command) {
        NativeHandle list = idle.pollFirst();
        if (list == null) {
            list = create();
        }
        try {
            command.accept(list.get());
        } catch (RuntimeException | Error e) {
            list.release(); // it may be of no use, as after a lost device
            throw e;
        }
        idle.addFirst(list);
    }

    private NativeHandle create() {
        ContextCalls calls = context.contexts;
        return context.own(
                "command list",
                calls.createImmediate(
                        context.handle(), context.device().handle(), context.queueGroup()),
                calls::destroyList);
    }
}
