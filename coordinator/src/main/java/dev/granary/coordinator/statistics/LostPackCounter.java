package dev.granary.coordinator.statistics;

import dev.granary.s3.pack.PackPublisher;

import org.jspecify.annotations.Nullable;

import java.util.Optional;

/**
 * Counter of packs that a bucket has lost: those removed from the manifest, and failed attempts to
 * do so. Thread-safe.
 */
public final class LostPackCounter {
    private long forgotten; // guarded by this
    private long failures; // guarded by this
    private @Nullable String cause; // guarded by this

    /** Creates counters that are 0. */
    public LostPackCounter() {}

    public synchronized void count(PackPublisher.Forgotten result) {
        switch (result) {
            case PackPublisher.Forgotten.Done(int packs) -> forgotten += packs;
            case PackPublisher.Forgotten.Failed(String newCause) -> {
                failures++;
                cause = cause == null ? newCause : cause;
            }
        }
    }

    public synchronized LayerStatistics.LostPacks snapshot() {
        return new LayerStatistics.LostPacks(forgotten, failures, Optional.ofNullable(cause));
    }
}
