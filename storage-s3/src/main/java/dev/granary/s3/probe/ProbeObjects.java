package dev.granary.s3.probe;

import dev.granary.cache.format.WriteAttemptId;
import dev.granary.cache.support.Ticker;
import dev.granary.s3.layout.BucketLayout;
import dev.granary.s3.store.HeadResult;
import dev.granary.s3.store.ObjectMarks;
import dev.granary.s3.store.ObjectStore;
import dev.granary.s3.store.WriteResult;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Supplier;
import java.util.random.RandomGenerator;

/** The objects of one {@link CapabilityProbe}, under names that nobody else asks for, and patience where an answer says nothing. Not thread-safe. */
final class ProbeObjects {
    private static final int ATTEMPTS = 3;
    private static final Duration PAUSE = Duration.ofMillis(100);

    private final ObjectStore store;
    private final BucketLayout layout;
    private final Ticker timing;
    private final String name;
    private final ObjectMarks marks;
    private final List<String> keys = new ArrayList<>();
    private boolean isDeletionRefused;

    ProbeObjects(ObjectStore store, BucketLayout layout, Ticker timing, RandomGenerator random) {
        this.store = store;
        this.layout = layout;
        this.timing = timing;
        this.name = WriteAttemptId.random(random).hex();
        this.marks = new ObjectMarks(name, name);
    }

    /** The metadata of all of them. */
    ObjectMarks marks() {
        return marks;
    }

    /** A name that was never used. */
    String key() {
        String key = layout.probeObject(name + "-" + keys.size());
        keys.add(key);
        return key;
    }

    /** What the names of all begin with. */
    String prefix() {
        return layout.probeObject(name);
    }

    /** Creates an object. A failed precondition after an attempt without an answer is that attempt's success. */
    WriteResult create(String key, byte[] body) throws InterruptedException {
        WriteResult first = store.putIfAbsent(key, body, marks);
        if (!saysNothing(first)) {
            return first;
        }
        WriteResult again = settled(first, () -> store.putIfAbsent(key, body, marks));
        return again instanceof WriteResult.PreconditionFailed
                && store.head(key) instanceof HeadResult.Found found && found.marks().equals(marks)
                ? new WriteResult.Done(found.etag()) : again;
    }

    /** Sends a write, again where the answer says nothing. */
    WriteResult write(Supplier<WriteResult> request) throws InterruptedException {
        return settled(request.get(), request);
    }

    /** Deletes one. */
    WriteResult delete(String key) throws InterruptedException {
        WriteResult result = write(() -> store.delete(key));
        isDeletionRefused |= result instanceof WriteResult.NotAllowed;
        return result;
    }

    /** Deletes all, as far as the server lets us. */
    void deleteAll() {
        for (String key : keys) {
            if (isDeletionRefused) {
                return;
            }
            isDeletionRefused = store.delete(key) instanceof WriteResult.NotAllowed;
        }
    }

    private WriteResult settled(WriteResult first, Supplier<WriteResult> request) throws InterruptedException {
        WriteResult result = first;
        for (int i = 1; i < ATTEMPTS && saysNothing(result); i++) {
            timing.pause(PAUSE.multipliedBy(i));
            result = request.get();
        }
        return result;
    }

    private static boolean saysNothing(WriteResult result) {
        return result instanceof WriteResult.Unknown || result instanceof WriteResult.Conflict;
    }
}
