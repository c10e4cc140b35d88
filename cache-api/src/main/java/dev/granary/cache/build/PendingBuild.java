package dev.granary.cache.build;

import org.jspecify.annotations.Nullable;

/** A build of a value by one thread while others may wait for it. */
public interface PendingBuild {
    /**
     * Returns the thread that builds the value, or null once there is a value or a failure. May be
     * called by any thread.
     */
    @Nullable
    Thread builder();
}
