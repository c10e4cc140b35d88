package dev.granary.s3.history;

import static dev.granary.s3.history.FaultFreeStore.into;
import static dev.granary.s3.history.FaultFreeStore.permitted;

import dev.granary.cache.Id;
import dev.granary.s3.store.GetResult;
import dev.granary.s3.store.HeadResult;
import dev.granary.s3.store.ListResult;
import dev.granary.s3.store.ObjectStore;
import dev.granary.s3.store.ServerTimestamps;
import dev.granary.s3.store.WriteResult;

import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.Supplier;

/**
 * The connection of one machine to the bucket, on which a request waits for its turn and may meet a
 * fault.
 */
final class Wire implements ObjectStore {
    private static final long AHEAD_MILLIS = TimeUnit.HOURS.toMillis(25);

    private final Bucket bucket;
    private final Ledger ledger;
    private final Machine machine;

    Wire(Bucket bucket, Ledger ledger, Machine machine) {
        this.bucket = bucket;
        this.ledger = ledger;
        this.machine = machine;
    }

    @Override
    public GetResult get(String key, long limit) {
        return read("GET", key, stored -> bucket.get(stored, 0, Long.MAX_VALUE, limit));
    }

    @Override
    public GetResult range(String key, long offset, int length, byte[] into) {
        return into(read("RANGE", key, stored -> bucket.get(stored, offset, length, length)), into);
    }

    private GetResult read(
            String method, String key, Function<Optional<Bucket.Stored>, GetResult> answer) {
        Disturbance fault = request(method, key);
        GetResult answered = permitted(
                switch (fault) {
                    case NONE, CONFLICT_LANDED, FALSE_412, REFUSED_LANDED, CONFLICT ->
                        fresh(key, answer.apply(bucket.stored(key)));
                    case LOST, ANSWER_LOST -> new GetResult.Unavailable(Disturbance.ERROR_500);
                    case LATE -> new GetResult.Unavailable(Disturbance.TIMEOUT);
                    case REFUSED -> new GetResult.Unavailable(Disturbance.DENIED);
                    case TRUNCATED -> truncated(answer.apply(bucket.stored(key)));
                    case STALE -> answer.apply(stale(key));
                    case SWAPPED -> answer.apply(beside(key));
                    case BARE -> bare(answer.apply(bucket.stored(key)));
                    case TOO_LARGE -> new GetResult.TooLarge(1);
                },
                machine.mayList());
        GetResult result = machine.hasOtherClock() ? ahead(answered) : answered;
        machine.answered(method, key, fault, () -> text(result));
        return result;
    }

    /** Sends a request; a process without a verdict publishes no packs, so one fault is enough. */
    private Disturbance request(String method, String key) {
        Disturbance fault = machine.request(method, key);
        return key.endsWith("granary.json") && fault != Disturbance.LOST ? Disturbance.NONE : fault;
    }

    /** Returns a response of the server's second clock. */
    private static GetResult ahead(GetResult result) {
        return switch (result) {
            case GetResult.Found found ->
                new GetResult.Found(found.bytes(), found.etag(), ahead(found.dates()));
            case GetResult.Absent absent ->
                new GetResult.Absent(absent.serverMillis() + AHEAD_MILLIS);
            case GetResult.TooLarge _, GetResult.Unavailable _ -> result;
        };
    }

    private static ServerTimestamps ahead(ServerTimestamps dates) {
        return dates.equals(ServerTimestamps.NONE)
                ? dates
                : new ServerTimestamps(
                        dates.lastModifiedMillis(), dates.nowMillis() + AHEAD_MILLIS);
    }

    /** Returns a marker without an age, so that no process probes the server. */
    private GetResult fresh(String key, GetResult result) {
        return result instanceof GetResult.Found found && key.endsWith("granary.json")
                ? new GetResult.Found(found.bytes(), found.etag(), ServerTimestamps.NONE)
                : result;
    }

    private static GetResult truncated(GetResult sound) {
        return sound instanceof GetResult.Found found
                ? new GetResult.Found(
                        found.bytes().asSlice(0, found.bytes().byteSize() * 2 / 3),
                        found.etag(),
                        found.dates())
                : sound;
    }

    private static GetResult bare(GetResult sound) {
        return sound instanceof GetResult.Found found
                ? new GetResult.Found(found.bytes(), found.etag(), ServerTimestamps.NONE)
                : sound;
    }

    private Optional<Bucket.Stored> stale(String key) {
        Optional<Bucket.Older<Optional<Bucket.Stored>>> before = bucket.before(key);
        before.filter(Bucket.Older::hasRemoved).ifPresent(_ -> machine.readRemovedState());
        return before.map(Bucket.Older::state).orElseGet(() -> bucket.stored(key));
    }

    /** Returns another object of the same kind, or the object itself if there is none. */
    private Optional<Bucket.Stored> beside(String key) {
        TreeMap<String, Bucket.Stored> all = new TreeMap<>(bucket.objects());
        String directory = key.substring(0, key.lastIndexOf('/'));
        return Optional.ofNullable(all.lowerEntry(key))
                .filter(one -> one.getKey().startsWith(directory))
                .map(Map.Entry::getValue)
                .or(() -> bucket.stored(key));
    }

    @Override
    public HeadResult head(String key) {
        Disturbance fault = machine.request("HEAD", key);
        HeadResult result = permitted(
                switch (fault) {
                    case NONE,
                            TOO_LARGE,
                            TRUNCATED,
                            SWAPPED,
                            CONFLICT_LANDED,
                            FALSE_412,
                            REFUSED_LANDED,
                            CONFLICT -> bucket.head(bucket.stored(key));
                    case LOST, ANSWER_LOST -> new HeadResult.Unavailable(Disturbance.ERROR_500);
                    case LATE -> new HeadResult.Unavailable(Disturbance.TIMEOUT);
                    case REFUSED -> new HeadResult.Unavailable(Disturbance.DENIED);
                    case STALE -> bucket.head(stale(key));
                    case BARE ->
                        bucket.head(bucket.stored(key)) instanceof HeadResult.Found found
                                ? new HeadResult.Found(
                                        found.bytes(), found.etag(), ServerTimestamps.NONE)
                                : HeadResult.ABSENT;
                },
                machine.mayList());
        machine.answered("HEAD", key, fault, () -> text(result));
        return result;
    }

    @Override
    public WriteResult put(String key, byte[] body) {
        return write("PUT", key, written(key, body, () -> bucket.put(key, body)));
    }

    @Override
    public WriteResult putIfAbsent(String key, byte[] body) {
        return write("CREATE", key, written(key, body, () -> bucket.putIfAbsent(key, body)));
    }

    @Override
    public WriteResult replaceIfMatch(String key, String etag, byte[] body) {
        return write("REPLACE", key, written(key, body, () -> {
            boolean isVersion = bucket.isVersion(key, etag);
            WriteResult result = bucket.replace(key, etag, body);
            if (!isVersion && result instanceof WriteResult.Done) {
                ledger.conditionIgnored(key);
                bucket.lose();
            }
            return result;
        }));
    }

    @Override
    public WriteResult deleteIfMatch(String key, String etag) {
        return write("DELETE match", key, removed(key, () -> {
            boolean isVersion = bucket.isVersion(key, etag);
            WriteResult result = bucket.delete(key, etag);
            if (!isVersion && result instanceof WriteResult.Done) {
                ledger.conditionIgnored(key);
            }
            return result;
        }));
    }

    @Override
    public WriteResult delete(String key) {
        return write("DELETE", key, removed(key, () -> bucket.delete(key)));
    }

    private Supplier<WriteResult> written(String key, byte[] body, Supplier<WriteResult> commit) {
        Set<Id> leavingOut = machine.work().leavingOut();
        return () -> {
            WriteResult result = commit.get();
            if (result instanceof WriteResult.Done) {
                ledger.withdraw(leavingOut);
                if (!leavingOut.isEmpty()) {
                    bucket.lose();
                }
                ledger.written(key, body);
            }
            return result;
        };
    }

    private Supplier<WriteResult> removed(String key, Supplier<WriteResult> commit) {
        Set<Id> leavingOut = machine.work().leavingOut();
        return () -> {
            boolean isThere = bucket.stored(key).isPresent();
            WriteResult result = commit.get();
            if (isThere && result instanceof WriteResult.Done) {
                ledger.withdraw(leavingOut);
                ledger.removed(key);
            }
            return result;
        };
    }

    private WriteResult write(String method, String key, Supplier<WriteResult> commit) {
        Disturbance fault = request(method, key);
        boolean isConditional =
                method.equals("CREATE") || method.equals("REPLACE") || method.endsWith("match");
        WriteResult result =
                switch (fault) {
                    case NONE, TRUNCATED, STALE, SWAPPED, BARE, TOO_LARGE -> commit.get();
                    case LOST -> WriteResult.failed(Disturbance.ERROR_500);
                    case ANSWER_LOST -> instead(commit, WriteResult.failed(Disturbance.ERROR_500));
                    case LATE -> {
                        bucket.delay(() -> machine.landed(method, key, text(commit.get())));
                        yield WriteResult.failed(Disturbance.TIMEOUT);
                    }
                    case CONFLICT -> isConditional ? WriteResult.CONFLICT : commit.get();
                    case REFUSED -> WriteResult.failed(Disturbance.DENIED);
                    case CONFLICT_LANDED ->
                        isConditional ? instead(commit, WriteResult.CONFLICT) : commit.get();
                    case FALSE_412 ->
                        isConditional ? WriteResult.PRECONDITION_FAILED : commit.get();
                    case REFUSED_LANDED -> instead(commit, WriteResult.failed(Disturbance.DENIED));
                };
        machine.answered(method, key, fault, () -> text(result));
        return result;
    }

    private static WriteResult instead(Supplier<WriteResult> commit, WriteResult response) {
        WriteResult ignored = commit.get();
        return response;
    }

    @Override
    public ListResult list(String prefix, Consumer<Listed> visitor) {
        Disturbance fault = machine.request("LIST", prefix);
        machine.work().listing(prefix);
        Map<String, Bucket.Stored> objects = bucket.objects();
        switch (fault) {
            case LOST, ANSWER_LOST, LATE, REFUSED -> {
                return new ListResult.Unavailable(Disturbance.ERROR_500);
            }
            case STALE -> {
                Bucket.Older<Map<String, Bucket.Stored>> before = bucket.ago(machine.lag());
                objects = before.state();
                if (before.hasRemoved()) {
                    machine.readRemovedState();
                }
            }
            case NONE,
                    CONFLICT,
                    TRUNCATED,
                    TOO_LARGE,
                    SWAPPED,
                    BARE,
                    CONFLICT_LANDED,
                    FALSE_412,
                    REFUSED_LANDED -> {}
        }
        List<Listed> listed = Bucket.listed(objects, prefix);
        machine.answered("LIST", prefix, fault, () -> listed.size() + " objects");
        if (!machine.mayList()) {
            return new ListResult.Unavailable(Disturbance.DENIED);
        }
        listed.forEach(visitor);
        return new ListResult.Complete(listed.size());
    }

    @Override
    public void close() {
        // holds no resources
    }

    private static String text(GetResult result) {
        return switch (result) {
            case GetResult.Found found -> found.bytes().byteSize() + " bytes";
            case GetResult.Absent _ -> "404";
            case GetResult.TooLarge _ -> "too large";
            case GetResult.Unavailable unavailable -> unavailable.failure().toString();
        };
    }

    private static String text(HeadResult result) {
        return switch (result) {
            case HeadResult.Found found -> found.bytes() + " bytes";
            case HeadResult.Absent _ -> "404";
            case HeadResult.Unavailable unavailable -> unavailable.failure().toString();
        };
    }

    private static String text(WriteResult result) {
        return switch (result) {
            case WriteResult.Done _ -> "done";
            case WriteResult.PreconditionFailed _ -> "412";
            case WriteResult.Conflict _ -> "409";
            case WriteResult.NotAllowed refused -> refused.failure().toString();
            case WriteResult.NotSent unsent -> unsent.failure().toString();
            case WriteResult.Unknown unanswered -> unanswered.failure().toString();
        };
    }
}
