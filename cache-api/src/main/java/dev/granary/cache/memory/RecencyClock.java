package dev.granary.cache.memory;

import java.util.concurrent.atomic.AtomicLong;

/**
 * A logical clock for recency: advances at each touch. One atomic addition, so that it never runs backwards: a clock that a delayed writer
 * could set back would make what is used now look older than what was used long ago.
 */
final class RecencyClock {
    private final AtomicLong now = new AtomicLong();

    long now() {
        return now.getPlain();
    }

    long advance() {
        return now.incrementAndGet();
    }
}
