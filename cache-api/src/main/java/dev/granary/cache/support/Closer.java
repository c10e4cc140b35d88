package dev.granary.cache.support;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.util.ArrayDeque;
import java.util.Deque;

/**
 * Stack of what was opened. It closes in reverse order; a failure is logged and stops nothing. Not
 * thread-safe.
 */
public final class Closer implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(Closer.class);

    private final Deque<AutoCloseable> opened = new ArrayDeque<>();

    /** Adds an object to be closed, and returns it. */
    public <T extends AutoCloseable> T add(T resource) {
        opened.push(resource);
        return resource;
    }

    /** Closes all objects, the last added one first. */
    @Override
    public void close() {
        while (!opened.isEmpty()) {
            AutoCloseable resource = opened.pop();
            try {
                resource.close();
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            } catch (Throwable e) { // an error too: the others are closed
                LOG.warn("{} could not be closed: {}", resource.getClass().getName(), e.toString());
            }
        }
    }
}
