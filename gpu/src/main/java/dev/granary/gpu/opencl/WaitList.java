package dev.granary.gpu.opencl;

import org.jspecify.annotations.Nullable;

import java.util.ArrayList;
import java.util.List;

/** The native events that a launch waits for, retained while it is enqueued. Not thread-safe. */
final class WaitList implements AutoCloseable {
    private final List<OpenClEvent> events = new ArrayList<>();
    private final List<Long> handles = new ArrayList<>();
    private @Nullable OpenClException failure;

    private WaitList() {}

    /**
     * Retains those of the events that have not ended.
     *
     * @throws IllegalArgumentException if one belongs to another context
     */
    static WaitList of(List<OpenClEvent> events, long context) {
        for (OpenClEvent event : events) {
            if (!event.isIn(context)) {
                throw new IllegalArgumentException(
                        "An event to wait for belongs to another context: " + event);
            }
        }
        WaitList waitList = new WaitList();
        try {
            events.forEach(waitList::add);
        } catch (RuntimeException | Error e) {
            waitList.close();
            throw e;
        }
        return waitList;
    }

    private void add(OpenClEvent event) {
        long handle = event.retain();
        if (handle != 0) {
            events.add(event);
            handles.add(handle);
        } else if (failure == null) {
            failure = event.failure();
        }
    }

    /** Returns the native events. */
    List<Long> handles() {
        return handles;
    }

    /** Returns the failure of an event that has ended; null if there is none. */
    @Nullable
    OpenClException failure() {
        return failure;
    }

    @Override
    public void close() {
        for (int i = 0; i < events.size(); i++) {
            events.get(i).release(handles.get(i));
        }
        events.clear();
        handles.clear();
    }
}
