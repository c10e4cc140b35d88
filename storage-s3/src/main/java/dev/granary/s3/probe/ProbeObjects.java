package dev.granary.s3.probe;

import dev.granary.cache.support.Ticker;
import dev.granary.s3.layout.BucketLayout;
import dev.granary.s3.store.GetResult;
import dev.granary.s3.store.ObjectStore;
import dev.granary.s3.store.WriteResult;

import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.Supplier;
import java.util.random.RandomGenerator;

/**
 * The objects of one {@link CapabilityProbe}, with retries of ambiguous responses. Their names are
 * unique, since a create needs an absent object. Not thread-safe.
 */
final class ProbeObjects {
    private static final int MAX_ATTEMPTS = 3;
    private static final Duration FIRST_PAUSE = Duration.ofMillis(100);

    private final ObjectStore store;
    private final BucketLayout layout;
    private final Ticker ticker;
    private final String name;
    private final List<String> keys = new ArrayList<>();
    private boolean isDeletionRefused;

    ProbeObjects(ObjectStore store, BucketLayout layout, Ticker ticker, RandomGenerator random) {
        this.store = store;
        this.layout = layout;
        this.ticker = ticker;
        this.name = BucketLayout.randomName(random);
    }

    /** Returns a new unique key. */
    String key() {
        String key = layout.probeObject(name + "-" + keys.size());
        keys.add(key);
        return key;
    }

    /** Returns the key of an object that all probes overwrite, and none deletes. */
    String sharedKey() {
        return layout.probeObject("shared");
    }

    /** Returns false if the server refuses to delete an object, here one that does not exist. */
    boolean isDeletionAllowed() {
        isDeletionRefused =
                store.delete(layout.probeObject(name)) instanceof WriteResult.NotAllowed;
        return !isDeletionRefused;
    }

    /**
     * Creates an object. A failed precondition after an ambiguous attempt is a success if the
     * object has our body.
     */
    WriteResult create(String key, byte[] body) throws InterruptedException {
        int[] sent = {0};
        WriteResult response = write(() -> {
            sent[0]++;
            return store.putIfAbsent(key, body);
        });
        return response instanceof WriteResult.PreconditionFailed
                        && sent[0] > 1 // an earlier one was ambiguous
                        && store.get(key, body.length) instanceof GetResult.Found found
                        && Arrays.equals(body, found.bytes().toArray(ValueLayout.JAVA_BYTE))
                ? new WriteResult.Done(found.etag())
                : response;
    }

    /** Sends a write, and retries it after ambiguous responses. */
    WriteResult write(Supplier<WriteResult> request) throws InterruptedException {
        WriteResult response = request.get();
        for (int sent = 1;
                sent < MAX_ATTEMPTS
                        && (response instanceof WriteResult.Conflict
                                || response instanceof WriteResult.Unknown);
                sent++) {
            ticker.pause(FIRST_PAUSE.multipliedBy(sent));
            response = request.get();
        }
        return response;
    }

    /** Deletes an object. */
    WriteResult delete(String key) throws InterruptedException {
        WriteResult result = write(() -> store.delete(key));
        isDeletionRefused |= result instanceof WriteResult.NotAllowed;
        return result;
    }

    /** Deletes all objects until the server refuses a deletion, or does not answer. */
    void deleteAll() {
        try {
            for (String key : keys) {
                if (isDeletionRefused || delete(key) instanceof WriteResult.Unknown) {
                    return;
                }
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
