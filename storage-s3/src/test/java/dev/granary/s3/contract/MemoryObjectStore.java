package dev.granary.s3.contract;

import dev.granary.s3.contract.Fault.Moment;
import dev.granary.s3.embedded.ConditionMode;
import dev.granary.s3.store.GetResult;
import dev.granary.s3.store.HeadResult;
import dev.granary.s3.store.ListResult;
import dev.granary.s3.store.ObjectStore;
import dev.granary.s3.store.ServerTimestamps;
import dev.granary.s3.store.StoreFailure;
import dev.granary.s3.store.WriteResult;

import org.jspecify.annotations.Nullable;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.Supplier;

/**
 * An in-memory object store that keeps all guarantees except for injected faults. Thread-safe.
 *
 * <p>Each {@link Fault} of the script applies to one request; after the script the
 * {@link FaultPlan} applies. Delays take no time here; a late write takes effect just before the
 * next but one request. Requests are recorded.
 */
public class MemoryObjectStore implements ObjectStore {
    private record Stored(MemorySegment body, String etag, long writtenMillis) {}

    private final Map<String, Stored> objects = new TreeMap<>();
    private final Deque<Fault> script = new ArrayDeque<>();
    private final Deque<Runnable> late = new ArrayDeque<>();
    private final List<String> requests = new ArrayList<>();
    private FaultPlan plan = FaultPlan.SOUND;
    private int lateFrom;
    private int versions;
    private long nowMillis = 1_700_000_000_000L;

    /** Sets the faults of the next requests, in order. */
    public synchronized void script(Fault... faults) {
        script.addAll(List.of(faults));
    }

    /** Clears the rest of the script. */
    public synchronized void forgetScript() {
        script.clear();
    }

    /** Sets the faults of requests after the script. */
    public synchronized void plan(FaultPlan next) {
        plan = next;
    }

    /** Returns the requests so far, such as {@code PUT none-match}, in order. */
    public synchronized List<String> requests() {
        return List.copyOf(requests);
    }

    /** Clears the recorded requests. */
    public synchronized void forgetRequests() {
        requests.clear();
    }

    /** Returns the number of writes that have not taken effect yet. */
    public synchronized int underWay() {
        return late.size();
    }

    /** Applies the late writes. */
    public synchronized void land() {
        while (!late.isEmpty()) {
            late.remove().run();
        }
    }

    /** Stores an object unconditionally; not a request. */
    public synchronized void place(String key, byte[] body) {
        objects.put(key, new Stored(copy(body), "v" + versions++, nowMillis));
    }

    /** Advances the server's clock. */
    public synchronized void pass(Duration duration) {
        nowMillis += duration.toMillis();
    }

    /** Removes an object; not a request. */
    public synchronized void remove(String key) {
        objects.remove(key);
    }

    /** Returns the body of an object; not a request. */
    public synchronized byte[] body(String key) {
        return stored(key).body().toArray(ValueLayout.JAVA_BYTE);
    }

    /** Returns all keys; not a request. */
    public synchronized List<String> keys() {
        return List.copyOf(objects.keySet());
    }

    @Override
    public GetResult get(String key, long limit) {
        return read("GET", key, 0, Long.MAX_VALUE, limit);
    }

    @Override
    public GetResult range(String key, long offset, int length, byte[] into) {
        GetResult read = read("GET range", key, offset, length, length);
        if (!(read instanceof GetResult.Found found)) {
            return read;
        }
        int count = (int) Math.min(found.bytes().byteSize(), into.length);
        MemorySegment part = MemorySegment.ofArray(into).asSlice(0, count);
        part.copyFrom(found.bytes().asSlice(0, count));
        return new GetResult.Found(part, found.etag(), found.dates());
    }

    private synchronized GetResult read(
            String name, String key, long offset, long length, long limit) {
        return switch (next(name, key)) {
            case Fault.None _, Fault.Meanwhile _, Fault.Delayed _, Fault.Conditioned _ ->
                part(key, offset, length, limit);
            case Fault.Lost lost -> new GetResult.Unavailable(lost.failure());
            case Fault.AnswerLost lost -> new GetResult.Unavailable(lost.failure());
            case Fault.AnswerLostThen lost -> {
                lost.event().run();
                yield new GetResult.Unavailable(lost.failure());
            }
            case Fault.Late _ -> new GetResult.Unavailable(Fault.TIMEOUT);
            case Fault.Conflicting _ -> new GetResult.Unavailable(FaultyResponses.conflict());
            case Fault.PreconditionFailed _ ->
                new GetResult.Unavailable(FaultyResponses.preconditionFailed());
            case Fault.Blank _ -> FaultyResponses.blank();
            case Fault.Page _ -> FaultyResponses.page();
            case Fault.Changed changed ->
                FaultyResponses.get(
                        part(key, offset, length, limit),
                        changed.change(),
                        limit,
                        () -> part(another(key), offset, length, limit));
        };
    }

    private GetResult part(String key, long offset, long length, long limit) {
        Stored stored = objects.get(key);
        if (stored == null) {
            return new GetResult.Absent(nowMillis);
        }
        long from = Math.min(offset, stored.body().byteSize());
        long count = Math.min(length, stored.body().byteSize() - from);
        MemorySegment part = MemorySegment.ofArray(
                stored.body().asSlice(from, count).toArray(ValueLayout.JAVA_BYTE));
        return count > limit
                ? new GetResult.TooLarge(limit)
                : new GetResult.Found(part, stored.etag(), dates(stored));
    }

    @Override
    public synchronized HeadResult head(String key) {
        return switch (next("HEAD", key)) {
            case Fault.None _, Fault.Meanwhile _, Fault.Delayed _, Fault.Conditioned _ ->
                about(key);
            case Fault.Lost lost -> new HeadResult.Unavailable(lost.failure());
            case Fault.AnswerLost lost -> new HeadResult.Unavailable(lost.failure());
            case Fault.AnswerLostThen lost -> {
                lost.event().run();
                yield new HeadResult.Unavailable(lost.failure());
            }
            case Fault.Late _ -> new HeadResult.Unavailable(Fault.TIMEOUT);
            case Fault.Conflicting _ -> new HeadResult.Unavailable(FaultyResponses.conflict());
            case Fault.PreconditionFailed _ ->
                new HeadResult.Unavailable(FaultyResponses.preconditionFailed());
            case Fault.Blank _, Fault.Page _ -> FaultyResponses.bare();
            case Fault.Changed changed ->
                FaultyResponses.head(about(key), changed.change(), () -> about(another(key)));
        };
    }

    private HeadResult about(String key) {
        Stored stored = objects.get(key);
        return stored == null
                ? HeadResult.ABSENT
                : new HeadResult.Found(stored.body().byteSize(), stored.etag(), dates(stored));
    }

    @Override
    public WriteResult put(String key, byte[] body) {
        return write("PUT", key, _ -> written(key, body));
    }

    @Override
    public WriteResult putIfAbsent(String key, byte[] body) {
        return write(
                "PUT none-match",
                key,
                conditions -> conditions == ConditionMode.IGNORED || !objects.containsKey(key)
                        ? written(key, body)
                        : WriteResult.PRECONDITION_FAILED);
    }

    @Override
    public WriteResult replaceIfMatch(String key, String etag, byte[] body) {
        return write(
                "PUT match",
                key,
                conditions -> isVersion(key, etag, conditions)
                        ? written(key, body)
                        : WriteResult.PRECONDITION_FAILED);
    }

    @Override
    public WriteResult deleteIfMatch(String key, String etag) {
        return write(
                "DELETE match",
                key,
                conditions -> isVersion(key, etag, conditions)
                        ? deleted(key)
                        : WriteResult.PRECONDITION_FAILED);
    }

    @Override
    public WriteResult delete(String key) {
        return write("DELETE", key, _ -> deleted(key));
    }

    @Override
    public ListResult list(String prefix, Consumer<Listed> visitor) {
        List<Listed> found = new ArrayList<>();
        StoreFailure lost;
        synchronized (this) {
            lost = listFailure(next("LIST", prefix));
            objects.forEach((key, stored) -> {
                if (key.startsWith(prefix)) {
                    found.add(new Listed(
                            key, stored.body().byteSize(), stored.etag(), stored.writtenMillis()));
                }
            });
        }
        if (lost != null) {
            return new ListResult.Unavailable(lost);
        }
        found.forEach(visitor);
        return new ListResult.Complete(found.size());
    }

    private static @Nullable StoreFailure listFailure(Fault fault) {
        return switch (fault) {
            case Fault.None _, Fault.Meanwhile _, Fault.Delayed _, Fault.Conditioned _ -> null;
            case Fault.Lost lost -> lost.failure();
            case Fault.AnswerLost lost -> lost.failure();
            case Fault.AnswerLostThen lost -> {
                lost.event().run();
                yield lost.failure();
            }
            case Fault.Late _ -> Fault.TIMEOUT;
            case Fault.Conflicting _ -> FaultyResponses.conflict();
            case Fault.PreconditionFailed _ -> FaultyResponses.preconditionFailed();
            case Fault.Blank _, Fault.Page _ -> Fault.RESET;
            case Fault.Changed changed ->
                changed.change() == Fault.Change.TRUNCATED ? Fault.RESET : null;
        };
    }

    @Override
    public void close() {
        // no resources
    }

    private synchronized WriteResult write(
            String name, String key, Function<ConditionMode, WriteResult> change) {
        Supplier<WriteResult> sound = () -> change.apply(ConditionMode.KEPT);
        boolean isDeletion = name.startsWith("DELETE");
        return switch (next(name, key)) {
            case Fault.None _, Fault.Meanwhile _, Fault.Delayed _ -> sound.get();
            case Fault.Lost lost -> WriteResult.failed(lost.failure());
            case Fault.AnswerLost lost ->
                instead(Moment.AFTER, sound, WriteResult.failed(lost.failure()));
            case Fault.AnswerLostThen lost -> {
                WriteResult falsified =
                        instead(Moment.AFTER, sound, WriteResult.failed(lost.failure()));
                lost.event().run();
                yield falsified;
            }
            case Fault.Late _ -> {
                late.add(() -> instead(Moment.AFTER, sound, WriteResult.CONFLICT));
                lateFrom = requests.size() + 2;
                yield WriteResult.failed(Fault.TIMEOUT);
            }
            case Fault.Conflicting falsified ->
                instead(falsified.moment(), sound, WriteResult.CONFLICT);
            case Fault.PreconditionFailed falsified ->
                instead(falsified.moment(), sound, WriteResult.PRECONDITION_FAILED);
            case Fault.Blank falsified ->
                instead(falsified.moment(), sound, FaultyResponses.bareWrite(isDeletion));
            case Fault.Page falsified ->
                instead(falsified.moment(), sound, FaultyResponses.bareWrite(isDeletion));
            case Fault.Changed changed -> FaultyResponses.write(sound.get(), changed.change());
            case Fault.Conditioned how -> change.apply(how.conditions());
        };
    }

    private static WriteResult instead(
            Moment moment, Supplier<WriteResult> sound, WriteResult falsified) {
        if (moment == Moment.AFTER) {
            WriteResult lostFailure = sound.get();
        }
        return falsified;
    }

    private Fault next(String operation, String key) {
        S3Request request = new S3Request(requests.size(), operation, key);
        requests.add(operation);
        if (requests.size() >= lateFrom) {
            land();
        }
        Fault fault = script.isEmpty() ? plan.next(request) : script.remove();
        if (fault instanceof Fault.Meanwhile meanwhile) {
            meanwhile.event().run();
        }
        return fault;
    }

    private ServerTimestamps dates(Stored stored) {
        return new ServerTimestamps(stored.writtenMillis(), nowMillis);
    }

    private WriteResult written(String key, byte[] body) {
        String etag = "v" + versions++;
        objects.put(key, new Stored(copy(body), etag, nowMillis));
        return new WriteResult.Done(etag);
    }

    private WriteResult deleted(String key) {
        objects.remove(key);
        return new WriteResult.Done("");
    }

    private static MemorySegment copy(byte[] body) {
        return MemorySegment.ofArray(body.clone());
    }

    private boolean isVersion(String key, String etag, ConditionMode conditions) {
        Stored stored = objects.get(key);
        return stored != null
                && (conditions == ConditionMode.IGNORED || stored.etag().equals(etag));
    }

    /** Returns the first other key; the key itself if there is none. */
    private String another(String key) {
        return objects.keySet().stream()
                .filter(other -> !other.equals(key))
                .findFirst()
                .orElse(key);
    }

    private Stored stored(String key) {
        Stored stored = objects.get(key);
        if (stored == null) {
            throw new IllegalStateException("There is no " + key);
        }
        return stored;
    }
}
