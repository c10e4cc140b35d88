package dev.granary.s3.contract;

import dev.granary.s3.store.StoreFailure;
import dev.granary.s3.store.WriteResult;

import java.util.EnumSet;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.function.Supplier;

/** An in-memory object store that deviates from S3 like real servers. Thread-safe. */
public final class DeviatingObjectStore extends MemoryObjectStore {
    /** Kind of a deviation. */
    public enum Deviation {
        /** Conditions of PUT are ignored: every write succeeds. */
        IGNORES_CONDITIONS,
        /** A PUT with a condition returns 501. */
        REFUSES_CONDITIONS,
        /** If-Match of PUT is ignored. */
        IGNORES_IF_MATCH,
        /** If-Match of PUT returns 501. */
        REFUSES_IF_MATCH,
        /**
         * If-None-Match is checked before the write, not atomically: two concurrent writers win.
         */
        RACY_CREATE,
        /** If-Match is checked before the write, not atomically: two concurrent writers win. */
        RACY_REPLACE,
        /** Of several concurrent writers, all but one get 500. */
        LOSES_WITH_500,
        /** Conditions of DELETE are ignored. */
        IGNORES_CONDITIONAL_DELETE,
        /** A deleted object cannot be created again. */
        REMEMBERS_DELETED,
        /** Every PUT returns 400, like refused checksum headers. */
        REFUSES_WRITES,
        /** Every PUT returns 403. */
        FORBIDS_WRITES,
        /** Deletions return 403. */
        FORBIDS_DELETIONS
    }

    private static final WriteResult NOT_IMPLEMENTED = WriteResult.failed(new StoreFailure(
            StoreFailure.Kind.NOT_SUPPORTED,
            501,
            "NotImplemented",
            "A header you provided is not implemented"));
    private static final WriteResult BAD_REQUEST = WriteResult.failed(new StoreFailure(
            StoreFailure.Kind.NOT_SUPPORTED,
            400,
            "InvalidRequest",
            "The checksum header is not known"));

    private final Set<Deviation> deviations;
    private final Map<String, Set<Thread>> winners = new HashMap<>();
    private final Set<String> deleted = new HashSet<>();

    /** Creates a store with all of these deviations. */
    public DeviatingObjectStore(Deviation first, Deviation... others) {
        this.deviations = EnumSet.of(first, others);
    }

    @Override
    public WriteResult put(String key, byte[] body) {
        if (has(Deviation.REFUSES_WRITES)) {
            return BAD_REQUEST;
        }
        return has(Deviation.FORBIDS_WRITES)
                ? WriteResult.failed(Fault.DENIED)
                : super.put(key, body);
    }

    @Override
    public synchronized WriteResult putIfAbsent(String key, byte[] body) {
        if (has(Deviation.REFUSES_CONDITIONS)) {
            return NOT_IMPLEMENTED;
        }
        if (has(Deviation.IGNORES_CONDITIONS)
                || has(Deviation.REFUSES_WRITES)
                || has(Deviation.FORBIDS_WRITES)) {
            return put(key, body);
        }
        if (has(Deviation.REMEMBERS_DELETED) && deleted.contains(key)) {
            return WriteResult.PRECONDITION_FAILED;
        }
        if (has(Deviation.RACY_CREATE) && isAtOnce(key)) {
            return super.put(key, body);
        }
        return winning(key, () -> super.putIfAbsent(key, body));
    }

    @Override
    public synchronized WriteResult replaceIfMatch(String key, String etag, byte[] body) {
        if (has(Deviation.REFUSES_CONDITIONS) || has(Deviation.REFUSES_IF_MATCH)) {
            return NOT_IMPLEMENTED;
        }
        if (has(Deviation.IGNORES_CONDITIONS)
                || has(Deviation.IGNORES_IF_MATCH)
                || has(Deviation.FORBIDS_WRITES)) {
            return put(key, body);
        }
        if (has(Deviation.RACY_REPLACE) && isAtOnce(key + etag)) {
            return super.put(key, body);
        }
        return winning(key + etag, () -> super.replaceIfMatch(key, etag, body));
    }

    @Override
    public WriteResult deleteIfMatch(String key, String etag) {
        return has(Deviation.IGNORES_CONDITIONAL_DELETE)
                ? delete(key)
                : super.deleteIfMatch(key, etag);
    }

    @Override
    public synchronized WriteResult delete(String key) {
        if (has(Deviation.FORBIDS_DELETIONS)) {
            return WriteResult.failed(Fault.DENIED);
        }
        deleted.add(key);
        return super.delete(key);
    }

    private boolean has(Deviation deviation) {
        return deviations.contains(deviation);
    }

    private WriteResult winning(String race, Supplier<WriteResult> write) {
        WriteResult result = write.get();
        if (result instanceof WriteResult.Done) {
            winners.computeIfAbsent(race, _ -> new HashSet<>()).add(Thread.currentThread());
        } else if (has(Deviation.LOSES_WITH_500)
                && result instanceof WriteResult.PreconditionFailed
                && isOthers(race)) {
            return WriteResult.failed(Fault.ERROR_500);
        }
        return result;
    }

    /**
     * Returns true for one writer of another thread than the winner: writes of one thread are
     * successive.
     */
    private boolean isAtOnce(String race) {
        return isOthers(race)
                && winners.getOrDefault(race, Set.of()).size() == 1
                && winners.computeIfAbsent(race, _ -> new HashSet<>()).add(Thread.currentThread());
    }

    private boolean isOthers(String race) {
        Set<Thread> won = winners.getOrDefault(race, Set.of());
        return !won.isEmpty() && !won.contains(Thread.currentThread());
    }
}
