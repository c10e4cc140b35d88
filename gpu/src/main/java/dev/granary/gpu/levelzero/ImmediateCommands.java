package dev.granary.gpu.levelzero;

import dev.granary.gpu.engine.NativeHandle;
import dev.granary.gpu.levelzero.binding.EventCalls;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.concurrent.locks.ReentrantLock;

/**
 * The immediate command list of one engine. Several threads may run commands; each waits for the
 * event of its own. Thread-safe.
 */
final class ImmediateCommands {
    /** The number of events that are created together. */
    private static final int POOL_EVENTS = 8;

    private final ZeContext context;
    private final EventCalls events;
    private final NativeHandle list;
    private final ReentrantLock lock = new ReentrantLock(); // the driver has none for a list
    private final Deque<NativeHandle> idle = new ArrayDeque<>(); // guarded by lock

    /** A command to append. */
    @FunctionalInterface
    interface Command {
        /** Appends it to a list, so that it signals the event at its end. */
        void appendTo(long list, long event);
    }

    /** Creates the list. Requires a lease. */
    ImmediateCommands(ZeContext context) {
        this.context = context;
        this.events = context.calls().events();
        this.list = context.own(
                "command list",
                context.calls()
                        .commands()
                        .createImmediate(
                                context.handle(), context.device().handle(), context.queueGroup()),
                context.calls().commands()::destroyList);
    }

    /**
     * Runs a command and waits for its end. Requires a lease.
     *
     * @throws dev.granary.gpu.DriverException if the driver refuses it, or it fails
     */
    void run(Command command) {
        NativeHandle event = append(command);
        events.await(event.get());
        // not after a failure: the command might still signal the event
        lock.lock();
        try {
            idle.push(event);
        } finally {
            lock.unlock();
        }
    }

    private NativeHandle append(Command command) {
        lock.lock();
        try {
            if (idle.isEmpty()) {
                addEvents();
            }
            NativeHandle event = idle.getFirst();
            events.reset(event.get());
            command.appendTo(list.get(), event.get());
            idle.removeFirst();
            return event;
        } finally {
            lock.unlock();
        }
    }

    private void addEvents() {
        NativeHandle pool = context.own(
                "event pool",
                events.createPool(context.handle(), context.device().handle(), POOL_EVENTS),
                events::destroyPool);
        for (int i = 0; i < POOL_EVENTS; i++) {
            idle.add(context.own("event", events.create(pool.get(), i), events::destroy));
        }
    }
}
