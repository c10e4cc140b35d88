package dev.granary.cache.build;

import org.jspecify.annotations.Nullable;

/** A value that one thread makes while others may wait for it. */
public interface PendingBuild {
    /** The thread that makes the value; null once there is a value or a failure. Any thread may ask. */
    @Nullable Thread builder();
}
