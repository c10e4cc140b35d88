package dev.granary.s3.contract;

import dev.granary.s3.store.Failure;
import dev.granary.s3.store.GetResult;
import dev.granary.s3.store.HeadResult;
import dev.granary.s3.store.ListResult;
import dev.granary.s3.store.Marks;
import dev.granary.s3.store.ObjectStore;
import dev.granary.s3.store.ServerDates;
import dev.granary.s3.store.WriteResult;
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
import java.util.function.Supplier;

/**
 * An object store in memory that keeps every promise, until it is told to break one: each {@link Fault} in the script happens to one request.
 * It writes down what it was asked. Thread-safe.
 */
public class MemoryObjectStore implements ObjectStore {
    /** What happens to one request. */
    public sealed interface Fault {
        /** Nothing. */
        record None() implements Fault {}

        /** The request never arrives. */
        record Lost(Failure failure) implements Fault {}

        /** The request is carried out, its answer is lost. */
        record AnswerLost(Failure failure) implements Fault {}

        /** Something happens just before the request is carried out. */
        record Meanwhile(Runnable event) implements Fault {}

        /** The request is carried out and its answer is lost; then something happens. */
        record AnswerLostThen(Failure failure, Runnable event) implements Fault {}

        /** The request is not carried out, and ends in this. */
        record Write(WriteResult result) implements Fault {}

        /** The request is not carried out, and ends in this. */
        record Get(GetResult result) implements Fault {}
    }

    /** No answer within the deadline. */
    public static final Failure TIMEOUT = Failure.of(Failure.Kind.TIMEOUT, "no answer");

    /** A failure of the server. */
    public static final Failure ERROR_500 = new Failure(Failure.Kind.SERVER, 500, "InternalError", "a failure");

    /** A refusal. */
    public static final Failure DENIED = new Failure(Failure.Kind.DENIED, 403, "AccessDenied", "not for you");

    private record Stored(MemorySegment body, String etag, long writtenMillis, Marks marks) {}

    private final Map<String, Stored> objects = new TreeMap<>();
    private final Deque<Fault> script = new ArrayDeque<>();
    private final List<String> requests = new ArrayList<>();
    private int versions;
    private long nowMillis = 1_700_000_000_000L;

    /** Sets what happens to the next requests, one after the other. */
    public synchronized void script(Fault... faults) {
        script.addAll(List.of(faults));
    }

    /** Forgets what is left of the script. */
    public synchronized void forgetScript() {
        script.clear();
    }

    /** What was asked so far, such as {@code PUT none-match}, in order. */
    public synchronized List<String> requests() {
        return List.copyOf(requests);
    }

    /** Forgets what was asked. */
    public synchronized void forgetRequests() {
        requests.clear();
    }

    /** Puts an object in place, whatever is there; not a request. */
    public synchronized void place(String key, byte[] body, Marks marks) {
        objects.put(key, new Stored(copy(body), "v" + versions++, nowMillis, marks));
    }

    /** Turns the server's clock. */
    public synchronized void pass(Duration duration) {
        nowMillis += duration.toMillis();
    }

    /** Takes an object away; not a request. */
    public synchronized void remove(String key) {
        objects.remove(key);
    }

    /** The body of an object; not a request. */
    public synchronized byte[] body(String key) {
        return stored(key).body().toArray(ValueLayout.JAVA_BYTE);
    }

    /** The marks of an object; not a request. */
    public synchronized Marks marks(String key) {
        return stored(key).marks();
    }

    /** All keys; not a request. */
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
        MemorySegment part = MemorySegment.ofArray(into).asSlice(0, found.bytes().byteSize());
        part.copyFrom(found.bytes());
        return new GetResult.Found(part, found.etag(), found.marks());
    }

    private synchronized GetResult read(String name, String key, long offset, long length, long limit) {
        return switch (next(name)) {
            case Fault.Lost lost -> new GetResult.Unavailable(lost.failure());
            case Fault.AnswerLost lost -> new GetResult.Unavailable(lost.failure());
            case Fault.AnswerLostThen lost -> new GetResult.Unavailable(lost.failure());
            case Fault.Get answer -> answer.result();
            case Fault.Write write -> throw new IllegalStateException("The script has " + write + " for a read");
            case Fault.None _, Fault.Meanwhile _ -> {
                Stored stored = objects.get(key);
                if (stored == null) {
                    yield GetResult.ABSENT;
                }
                long from = Math.min(offset, stored.body().byteSize());
                long count = Math.min(length, stored.body().byteSize() - from);
                MemorySegment part = MemorySegment.ofArray(stored.body().asSlice(from, count).toArray(ValueLayout.JAVA_BYTE));
                yield count > limit ? new GetResult.TooLarge(limit) : new GetResult.Found(part, stored.etag(), dates(stored), stored.marks());
            }
        };
    }

    @Override
    public synchronized HeadResult head(String key) {
        return switch (next("HEAD")) {
            case Fault.Lost lost -> new HeadResult.Unavailable(lost.failure());
            case Fault.AnswerLost lost -> new HeadResult.Unavailable(lost.failure());
            case Fault.AnswerLostThen lost -> new HeadResult.Unavailable(lost.failure());
            case Fault.Get get -> throw new IllegalStateException("The script has " + get + " for a HEAD");
            case Fault.Write write -> throw new IllegalStateException("The script has " + write + " for a HEAD");
            case Fault.None _, Fault.Meanwhile _ -> {
                Stored stored = objects.get(key);
                yield stored == null ? HeadResult.ABSENT : new HeadResult.Found(stored.body().byteSize(), stored.etag(), dates(stored), stored.marks());
            }
        };
    }

    @Override
    public WriteResult put(String key, byte[] body, Marks marks) {
        return write("PUT", () -> written(key, body, marks));
    }

    @Override
    public WriteResult putIfAbsent(String key, byte[] body, Marks marks) {
        return write("PUT none-match", () -> objects.containsKey(key) ? WriteResult.PRECONDITION_FAILED : written(key, body, marks));
    }

    @Override
    public WriteResult replaceIfMatch(String key, String etag, byte[] body, Marks marks) {
        return write("PUT match", () -> isVersion(key, etag) ? written(key, body, marks) : WriteResult.PRECONDITION_FAILED);
    }

    @Override
    public WriteResult deleteIfMatch(String key, String etag) {
        return write("DELETE match", () -> isVersion(key, etag) ? deleted(key) : WriteResult.PRECONDITION_FAILED);
    }

    @Override
    public WriteResult delete(String key) {
        return write("DELETE", () -> deleted(key));
    }

    @Override
    public ListResult list(String prefix, Consumer<Listed> visitor) {
        List<Listed> found = new ArrayList<>();
        synchronized (this) {
            if (next("LIST") instanceof Fault.Lost lost) {
                return new ListResult.Unavailable(lost.failure());
            }
            objects.forEach((key, stored) -> {
                if (key.startsWith(prefix)) {
                    found.add(new Listed(key, stored.body().byteSize(), stored.etag(), stored.writtenMillis()));
                }
            });
        }
        found.forEach(visitor);
        return new ListResult.Complete(found.size());
    }

    @Override
    public void close() {
        // nothing is held
    }

    private synchronized WriteResult write(String name, Supplier<WriteResult> change) {
        return switch (next(name)) {
            case Fault.None _, Fault.Meanwhile _ -> change.get();
            case Fault.Lost lost -> WriteResult.failed(lost.failure());
            case Fault.AnswerLost lost -> {
                WriteResult unheard = change.get();
                yield WriteResult.failed(lost.failure());
            }
            case Fault.AnswerLostThen lost -> {
                WriteResult unheard = change.get();
                lost.event().run();
                yield WriteResult.failed(lost.failure());
            }
            case Fault.Write answer -> answer.result();
            case Fault.Get get -> throw new IllegalStateException("The script has " + get + " for a write");
        };
    }

    private Fault next(String request) {
        requests.add(request);
        Fault fault = script.isEmpty() ? new Fault.None() : script.remove();
        if (fault instanceof Fault.Meanwhile meanwhile) {
            meanwhile.event().run();
        }
        return fault;
    }

    private ServerDates dates(Stored stored) {
        return new ServerDates(stored.writtenMillis(), nowMillis);
    }

    private WriteResult written(String key, byte[] body, Marks marks) {
        String etag = "v" + versions++;
        objects.put(key, new Stored(copy(body), etag, nowMillis, marks));
        return new WriteResult.Done(etag);
    }

    private WriteResult deleted(String key) {
        objects.remove(key);
        return new WriteResult.Done("");
    }

    private static MemorySegment copy(byte[] body) {
        return MemorySegment.ofArray(body.clone());
    }

    private boolean isVersion(String key, String etag) {
        Stored stored = objects.get(key);
        return stored != null && stored.etag().equals(etag);
    }

    private Stored stored(String key) {
        Stored stored = objects.get(key);
        if (stored == null) {
            throw new IllegalStateException("There is no " + key);
        }
        return stored;
    }
}
