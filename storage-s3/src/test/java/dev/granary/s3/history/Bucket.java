package dev.granary.s3.history;

import dev.granary.s3.store.GetResult;
import dev.granary.s3.store.HeadResult;
import dev.granary.s3.store.ObjectStore;
import dev.granary.s3.store.ServerTimestamps;
import dev.granary.s3.store.WriteResult;

import org.jspecify.annotations.Nullable;

import java.lang.foreign.MemorySegment;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.function.Supplier;
import java.util.function.UnaryOperator;

/**
 * The objects of a bucket and their earlier states, so that a lagging server can be simulated.
 * Thread-safe.
 *
 * <p>It delays writes that are to land late, and has the server's clock, which only tests advance.
 */
final class Bucket {
    /** The longest time that a response may lag. */
    private static final long LAG_MILLIS = 10 * 60_000;

    /** An object. */
    // never compared: objects are distinguished by their ETags
    @SuppressWarnings("ArrayRecordComponent")
    record Stored(byte[] body, String etag, long writtenMillis, Optional<Lie> lie) {}

    /** A wrong answer to each read of an object. */
    enum Lie {
        FAILURE,
        ABSENT,
        CUT,
        OTHER_BYTES
    }

    /**
     * A change of one key; a loss is a removal, a truncation, or a head without acknowledged
     * entries.
     */
    private record Change(
            String key,
            @Nullable Stored before,
            @Nullable Stored after,
            boolean isLoss,
            long atMillis) {}

    /** An older state of one key, or of all. */
    record Older<T>(T state, boolean hasRemoved) {}

    private final TreeMap<String, Stored> objects = new TreeMap<>();
    private final List<Change> changes = new ArrayList<>();
    private final Deque<Runnable> delayed = new ArrayDeque<>();
    private final Matching matching;
    private long nowMillis = 1_800_000_000_000L;
    private long versions;

    /** The handling of {@code If-Match}. */
    enum Matching {
        HONORED,
        REFUSED,
        IGNORED
    }

    Bucket(Matching matching) {
        this.matching = matching;
    }

    Matching matching() {
        return matching;
    }

    synchronized long nowMillis() {
        return nowMillis;
    }

    synchronized void pass(long millis) {
        nowMillis += millis;
    }

    /** Returns the number of changes so far. */
    synchronized int version() {
        return changes.size();
    }

    synchronized Optional<Stored> stored(String key) {
        return Optional.ofNullable(objects.get(key));
    }

    synchronized Map<String, Stored> objects() {
        return new TreeMap<>(objects);
    }

    /** Writes an object unconditionally. */
    synchronized WriteResult put(String key, byte[] body) {
        Stored next = new Stored(body.clone(), "v" + versions++, nowMillis, Optional.empty());
        changed(key, next);
        return new WriteResult.Done(next.etag());
    }

    /** Changes the body of an object, with or without another ETag. */
    synchronized void damage(String key, boolean isEtagKept, UnaryOperator<byte[]> change) {
        Stored there = objects.get(key);
        if (there != null) {
            changed(
                    key,
                    new Stored(
                            change.apply(there.body().clone()),
                            isEtagKept ? there.etag() : "v" + versions++,
                            nowMillis,
                            there.lie()),
                    true);
        }
    }

    /** Gives a wrong answer to reads of an object, until it is written again; empty ends that. */
    synchronized void lie(String key, Optional<Lie> lie) {
        Stored there = objects.get(key);
        if (there != null && !there.lie().equals(lie)) {
            changed(key, new Stored(there.body(), there.etag(), there.writtenMillis(), lie), true);
        }
    }

    synchronized WriteResult putIfAbsent(String key, byte[] body) {
        return objects.containsKey(key) ? WriteResult.PRECONDITION_FAILED : put(key, body);
    }

    /** Returns true if an object has that ETag. */
    synchronized boolean isVersion(String key, String etag) {
        Stored there = objects.get(key);
        return there != null && there.etag().equals(etag);
    }

    synchronized WriteResult replace(String key, String etag, byte[] body) {
        return ifMatch(key, etag, () -> put(key, body));
    }

    synchronized WriteResult delete(String key) {
        if (objects.containsKey(key)) {
            changed(key, null);
        }
        return new WriteResult.Done("");
    }

    synchronized WriteResult delete(String key, String etag) {
        return ifMatch(key, etag, () -> delete(key));
    }

    private WriteResult ifMatch(String key, String etag, Supplier<WriteResult> write) {
        return switch (matching) {
            case HONORED -> isVersion(key, etag) ? write.get() : WriteResult.PRECONDITION_FAILED;
            case REFUSED -> WriteResult.failed(Disturbance.NOT_IMPLEMENTED);
            case IGNORED -> write.get();
        };
    }

    private void changed(String key, @Nullable Stored next) {
        changed(key, next, next == null);
    }

    private void changed(String key, @Nullable Stored next, boolean isLoss) {
        changes.add(new Change(key, objects.get(key), next, isLoss, nowMillis));
        if (next == null) {
            objects.remove(key);
        } else {
            objects.put(key, next);
        }
    }

    /** Marks the last change as a loss: its object no longer names what it named. */
    synchronized void lose() {
        Change last = changes.removeLast();
        changes.add(new Change(last.key(), last.before(), last.after(), true, last.atMillis()));
    }

    /** Returns the state of a key before its last change; empty if that was long ago. */
    synchronized Optional<Older<Optional<Stored>>> before(String key) {
        for (int i = changes.size() - 1;
                i >= 0 && changes.get(i).atMillis() >= nowMillis - LAG_MILLIS;
                i--) {
            Change change = changes.get(i);
            if (change.key().equals(key)) {
                return Optional.of(
                        new Older<>(Optional.ofNullable(change.before()), change.isLoss()));
            }
        }
        return Optional.empty();
    }

    /** Returns all objects as they were that many changes ago, or fewer if those were long ago. */
    synchronized Older<Map<String, Stored>> ago(int count) {
        TreeMap<String, Stored> then = new TreeMap<>(objects);
        boolean hasRemoved = false;
        for (int i = changes.size() - 1;
                i >= Math.max(0, changes.size() - count)
                        && changes.get(i).atMillis() >= nowMillis - LAG_MILLIS;
                i--) {
            Change change = changes.get(i);
            hasRemoved |= change.isLoss();
            if (change.before() == null) {
                then.remove(change.key());
            } else {
                then.put(change.key(), change.before());
            }
        }
        return new Older<>(then, hasRemoved);
    }

    /** Delays a write until {@link #land}. */
    synchronized void delay(Runnable write) {
        delayed.add(write);
    }

    /** Carries out the delayed writes. */
    void land() {
        Runnable next;
        while ((next = nextDelayed()) != null) {
            next.run();
        }
    }

    private synchronized @Nullable Runnable nextDelayed() {
        return delayed.poll();
    }

    /** Returns a range of an object, as a server does. */
    GetResult get(Optional<Stored> stored, long offset, long length, long limit) {
        Optional<Lie> lie = stored.flatMap(Stored::lie);
        if (stored.isEmpty() || lie.equals(Optional.of(Lie.ABSENT))) {
            return new GetResult.Absent(nowMillis());
        }
        if (lie.equals(Optional.of(Lie.FAILURE))) {
            return new GetResult.Unavailable(Disturbance.ERROR_500);
        }
        byte[] body = lie.isEmpty() ? stored.get().body() : wrong(stored.get().body(), lie.get());
        long from = Math.min(offset, body.length);
        long count = Math.min(length, body.length - from);
        if (count > limit) {
            return new GetResult.TooLarge(limit);
        }
        byte[] part = Arrays.copyOfRange(body, (int) from, (int) (from + count));
        return new GetResult.Found(
                MemorySegment.ofArray(part), stored.get().etag(), dates(stored.get()));
    }

    private static byte[] wrong(byte[] body, Lie lie) {
        byte[] other = Arrays.copyOf(body, lie == Lie.CUT ? body.length / 2 : body.length);
        for (int i = 0; lie == Lie.OTHER_BYTES && i < other.length; i += 16) {
            other[i] ^= 1;
        }
        return other;
    }

    HeadResult head(Optional<Stored> stored) {
        return stored.isEmpty()
                ? HeadResult.ABSENT
                : new HeadResult.Found(
                        stored.get().body().length, stored.get().etag(), dates(stored.get()));
    }

    private ServerTimestamps dates(Stored stored) {
        return new ServerTimestamps(stored.writtenMillis(), nowMillis());
    }

    static List<ObjectStore.Listed> listed(Map<String, Stored> objects, String prefix) {
        return objects.entrySet().stream()
                .filter(one -> one.getKey().startsWith(prefix))
                .map(one -> new ObjectStore.Listed(
                        one.getKey(),
                        one.getValue().body().length,
                        one.getValue().etag(),
                        one.getValue().writtenMillis()))
                .toList();
    }
}
