package dev.granary.s3.publish;

import dev.granary.cache.Entry;
import dev.granary.cache.LoadResult;
import dev.granary.cache.LoadResult.DamageKind;
import dev.granary.cache.StoreResult;
import dev.granary.cache.format.EntryFormat;
import dev.granary.cache.format.EntryFormat.Compression;
import dev.granary.cache.format.EntryFormat.VerificationLevel;
import dev.granary.cache.format.TrustPolicy;
import dev.granary.cache.support.Ticker;
import dev.granary.s3.store.GetResult;
import dev.granary.s3.store.HeadResult;
import dev.granary.s3.store.ObjectStore;
import dev.granary.s3.store.StoreFailure;
import dev.granary.s3.store.WriteResult;

import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.Optional;
import java.util.UUID;
import java.util.random.RandomGenerator;

/**
 * Publishes entries: the first writer wins, and a writer without a response determines whether it
 * won. Thread-safe.
 *
 * <p>It usually takes one request, a PUT with {@code If-None-Match: *}. After any other response
 * the object is read, since only its bytes show whose it is and whether it is sound. The body has a
 * random put id, so equal bytes are this writer's.
 *
 * <table>
 * <caption>The requests</caption>
 * <tr><th>request</th><th>response</th><th>next</th></tr>
 * <tr><td>PUT, if absent or if it matches the version to be replaced</td><td>done</td>
 *     <td>stored; duplicate, if an old one was replaced</td></tr>
 * <tr><td></td><td>precondition failed</td><td>read</td></tr>
 * <tr><td></td><td>conflict</td><td>the same after a pause, at most 3 times</td></tr>
 * <tr><td></td><td>unknown</td><td>the same after a pause, at most twice; then read</td></tr>
 * <tr><td></td><td>not supported</td><td>read, and write without conditions from then on</td></tr>
 * <tr><td></td><td>not allowed</td>
 *     <td>refused, or unknown after an ambiguous attempt</td></tr>
 * <tr><td>GET</td><td>our bytes</td><td>stored</td></tr>
 * <tr><td></td><td>the same content</td>
 *     <td>duplicate; PUT that replaces it if it is old</td></tr>
 * <tr><td></td><td>another content, or a newer format</td>
 *     <td>divergent: a newer Granary reads it, and would replace ours in turn</td></tr>
 * <tr><td></td><td>damaged, too large</td><td>PUT that replaces this version</td></tr>
 * <tr><td></td><td>absent</td>
 *     <td>PUT again: it was deleted meanwhile; unknown after the last attempt</td></tr>
 * </table>
 *
 * <p>Needs no verdict on the server. If it ignores conditions, the first PUT is done. Two writers
 * may then overwrite each other, which only costs work, since entries verify themselves.
 */
public final class EntryPublisher {
    private static final int MAX_WRITES = 8;
    private static final int MAX_CONFLICTS = 3;
    private static final int MAX_UNKNOWNS = 2;
    private static final Duration FIRST_PAUSE = Duration.ofMillis(50);

    /**
     * The age from which a duplicate is replaced: half the grace of a compaction. A suspended one
     * may be about to remove that version as the copy of an entry in a pack, which may be gone.
     */
    static final Duration OLD = Duration.ofHours(12);

    private final ObjectStore store;
    private final TrustPolicy trust;
    private final Ticker ticker;
    private final RandomGenerator random;

    /**
     * Creates a publisher.
     *
     * @param trust which signatures count: entries without one give way to others
     * @param ticker the clock, which also waits between attempts
     * @param random source of put ids and pauses
     */
    public EntryPublisher(
            ObjectStore store, TrustPolicy trust, Ticker ticker, RandomGenerator random) {
        this.store = store;
        this.trust = trust;
        this.ticker = ticker;
        this.random = random;
    }

    /**
     * Publishes an entry under a key, with a bounded number of requests and pauses.
     *
     * @return refused also if the entry cannot be encoded, or no reader would trust it
     */
    public StoreResult publish(Entry entry, String key) {
        Optional<StoreResult> refusal = trust.refusal(entry);
        if (refusal.isPresent()) {
            return refusal.get();
        }
        byte[] body;
        try {
            body = encoded(entry);
        } catch (IllegalArgumentException e) {
            return new StoreResult.Refused(StoreResult.Scope.ENTRY, String.valueOf(e.getMessage()));
        }
        Publication publication = new Publication(entry, key, body);
        try {
            return publication.run();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return publication.giveUp("interrupted while waiting to try again");
        }
    }

    private byte[] encoded(Entry entry) {
        return EntryFormat.encode(
                entry, Compression.ZSTD, new UUID(random.nextLong(), random.nextLong()));
    }

    /** One publication. For one thread and one use. */
    private final class Publication {
        private final Entry entry;
        private final String key;
        private byte[] body;
        private Optional<String> replaced = Optional.empty(); // the version to be replaced
        private boolean isDuplicate; // that version has the content of the entry
        private boolean isConditional = true;
        private int conflicts;
        private int unknowns;

        Publication(Entry entry, String key, byte[] body) {
            this.entry = entry;
            this.key = key;
            this.body = body;
        }

        StoreResult run() throws InterruptedException {
            for (int i = 0; i < MAX_WRITES; i++) {
                Optional<StoreResult> result = write();
                if (result.isPresent()) {
                    return result.get();
                }
            }
            return giveUp("the object under its key was another one after each of " + MAX_WRITES
                    + " requests");
        }

        private WriteResult send() {
            if (!isConditional) {
                return store.put(key, body);
            }
            return replaced.isPresent()
                    ? store.replaceIfMatch(key, replaced.get(), body)
                    : store.putIfAbsent(key, body);
        }

        /** Sends one write; empty if another one is to follow. */
        private Optional<StoreResult> write() throws InterruptedException {
            switch (send()) {
                case WriteResult.Done _ -> {
                    return stored();
                }
                case WriteResult.NotSent(StoreFailure failure) -> {
                    return Optional.of(giveUp(failure.toString()));
                }
                case WriteResult.NotAllowed(StoreFailure refusal) -> {
                    if (!isConditional || refusal.kind() != StoreFailure.Kind.NOT_SUPPORTED) {
                        return Optional.of(refused(refusal));
                    }
                    isConditional = false;
                }
                case WriteResult.Conflict _ -> {
                    return afterConflict();
                }
                case WriteResult.Unknown(StoreFailure failure) -> {
                    unknowns++;
                    if (unknowns > MAX_UNKNOWNS + 1) {
                        return Optional.of(giveUp(failure.toString()));
                    }
                    if (unknowns <= MAX_UNKNOWNS) {
                        pause(unknowns);
                        if (isConditional) {
                            return Optional.empty();
                        }
                    }
                }
                case WriteResult.PreconditionFailed _ -> {
                    if (!isConditional) {
                        return Optional.of(
                                giveUp("a write without a condition failed its precondition"));
                    }
                }
            }
            return read();
        }

        private Optional<StoreResult> afterConflict() throws InterruptedException {
            conflicts++;
            if (conflicts > MAX_CONFLICTS) {
                return Optional.of(giveUp(conflicts + " conflicts"));
            }
            pause(conflicts);
            return Optional.empty();
        }

        /** Waits a random time up to 50, 100, 200 ms, so that colliding writers part. */
        private void pause(int attempt) throws InterruptedException {
            long maxNanos = FIRST_PAUSE.toNanos() << (attempt - 1);
            ticker.pause(Duration.ofNanos(1 + random.nextLong(maxNanos)));
        }

        /** Ends the publication. */
        private StoreResult refused(StoreFailure refusal) {
            if (isDuplicate) {
                return StoreResult.DUPLICATE; // who may not replace it leaves it
            }
            boolean isOfObject = refusal.kind() == StoreFailure.Kind.OBJECT_REFUSED;
            if (!isOfObject && isConditional && replaced.isPresent()) {
                return giveUp("the existing entry could not be replaced: " + refusal);
            }
            return unknowns > 0 // an earlier attempt may have succeeded
                    ? giveUp(refusal.toString())
                    : new StoreResult.Refused(
                            isOfObject ? StoreResult.Scope.ENTRY : StoreResult.Scope.STORE,
                            refusal.toString());
        }

        /** Reads the object under the key; empty if it is to be written again. */
        private Optional<StoreResult> read() throws InterruptedException {
            switch (store.get(key, EntryFormat.MAX_BYTES)) {
                case GetResult.Found found -> {
                    return judge(found);
                }
                case GetResult.TooLarge _ -> {
                    if (!(store.head(key) instanceof HeadResult.Found large)) {
                        return Optional.of(giveUp("an object that is no entry is there"));
                    }
                    return replace(large.etag(), false);
                }
                case GetResult.Absent _ -> {
                    replaced = Optional.empty();
                    isDuplicate = false;
                    // a pending attempt may still write it, with the same put id
                    return unknowns > MAX_UNKNOWNS
                            ? Optional.of(giveUp("no response to any attempt"))
                            : isConditional ? afterConflict() : Optional.empty();
                }
                case GetResult.Unavailable lost -> {
                    return Optional.of(
                            giveUp("the existing entry could not be read: " + lost.failure()));
                }
            }
        }

        private Optional<StoreResult> judge(GetResult.Found found) {
            if (found.bytes().mismatch(MemorySegment.ofArray(body)) < 0) {
                return stored();
            }
            switch (EntryFormat.decode(found.bytes(), entry.id(), VerificationLevel.CONTENT_HASH)) {
                case LoadResult.Hit(Entry there)
                when trust.prefers(entry, there) -> {
                    return replace(found.etag(), false);
                }
                case LoadResult.Hit hit
                when hit.entry().contentHash().equals(entry.contentHash()) -> {
                    boolean isOld = found.dates()
                            .age()
                            .filter(age -> age.compareTo(OLD) > 0)
                            .isPresent();
                    if (!isOld) {
                        return Optional.of(StoreResult.DUPLICATE);
                    }
                    body = encoded(hit.entry()); // its signature stays
                    return replace(found.etag(), true);
                }
                case LoadResult.Hit _ -> {
                    return Optional.of(StoreResult.DIVERGENT);
                }
                case LoadResult.Damaged bad
                when bad.damage() == DamageKind.TOO_NEW -> {
                    return Optional.of(StoreResult.DIVERGENT);
                }
                case LoadResult.Damaged bad
                when bad.damage() == DamageKind.TOO_LARGE -> {
                    return Optional.of(
                            giveUp("the existing entry cannot be read here: " + bad.detail()));
                }
                case LoadResult.Damaged _ -> {
                    return replace(found.etag(), false);
                }
                case LoadResult.Absent _, LoadResult.Unavailable _ ->
                    throw new IllegalStateException("Decoding ends in a hit or damage");
            }
        }

        /** Prepares the next write, which replaces a version. */
        private Optional<StoreResult> replace(String etag, boolean isSame) {
            replaced = Optional.of(etag);
            isDuplicate = isSame;
            return Optional.empty();
        }

        private Optional<StoreResult> stored() {
            return Optional.of(
                    isDuplicate ? StoreResult.DUPLICATE : new StoreResult.Stored(body.length));
        }

        /** Returns failed, or unknown if an attempt got no response. */
        StoreResult giveUp(String cause) {
            return unknowns > 0 ? new StoreResult.Unknown(cause) : new StoreResult.Failed(cause);
        }
    }
}
