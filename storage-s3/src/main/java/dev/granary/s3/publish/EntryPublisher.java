package dev.granary.s3.publish;

import dev.granary.cache.Entry;
import dev.granary.cache.StoreResult;
import dev.granary.cache.format.Compression;
import dev.granary.cache.format.EntryFormat;
import dev.granary.cache.format.WriteAttemptId;
import dev.granary.cache.support.Ticker;
import dev.granary.s3.resilience.RequestCounters;
import dev.granary.s3.resilience.WriteSuspension;
import dev.granary.s3.store.ObjectMarks;
import dev.granary.s3.store.ObjectStore;

import java.time.Duration;
import java.util.random.RandomGenerator;

/**
 * Publishes entries: the first writer wins, and a writer without a response determines whether it
 * won.
 *
 * <p>The protocol is a state machine. It usually takes one request, a PUT with
 * {@code If-None-Match: *} and a random put id. Any other response leads to another step; the
 * number of steps is bounded.
 *
 * <table>
 * <caption>The steps</caption>
 * <tr><th>step</th><th>response</th><th>next</th></tr>
 * <tr><td>create</td><td>done</td><td>stored</td></tr>
 * <tr><td></td><td>exists</td>
 *     <td>inspect: another writer's, or ours whose response was lost</td></tr>
 * <tr><td></td><td>conflict</td><td>create again after a pause, at most 3 times</td></tr>
 * <tr><td></td><td>unknown</td>
 *     <td>create again after a pause with the same put id, at most twice; then inspect</td></tr>
 * <tr><td></td><td>not supported</td>
 *     <td>inspect, and write without conditions from then on</td></tr>
 * <tr><td></td><td>not allowed</td>
 *     <td>refused, or unknown after an ambiguous attempt; writes are suspended</td></tr>
 * <tr><td>inspect (HEAD)</td><td>our put id</td><td>stored</td></tr>
 * <tr><td></td><td>same content hash and length, trusted</td>
 *     <td>duplicate; refresh if it is old</td></tr>
 * <tr><td></td><td>else</td><td>examine</td></tr>
 * <tr><td></td><td>absent</td>
 *     <td>create again: it was deleted meanwhile; unknown after the last attempt</td></tr>
 * <tr><td>examine (GET)</td><td>sound</td>
 *     <td>duplicate (refresh if it is old) or divergent; the first stays</td></tr>
 * <tr><td></td><td>of a newer format</td>
 *     <td>divergent: a newer Granary reads it, and would replace ours in turn</td></tr>
 * <tr><td></td><td>damaged, too large</td>
 *     <td>replace that version</td></tr>
 * <tr><td>replace (If-Match)</td><td>done</td><td>stored</td></tr>
 * <tr><td></td><td>precondition failed</td><td>inspect</td></tr>
 * <tr><td></td><td>conflict, unknown</td>
 *     <td>replace again after a pause, as often as create; then inspect after unknown</td></tr>
 * <tr><td></td><td>not supported</td><td>write without a condition</td></tr>
 * <tr><td>refresh (If-Match)</td><td>any</td><td>duplicate</td></tr>
 * </table>
 *
 * <p>Needs no verdict on the server. If it refuses a conditional request as not supported, the same
 * publication goes on without conditions: an absent or damaged entry is written by a plain PUT. If
 * it ignores the conditions, the first PUT is done. Two writers may then overwrite each other,
 * which only costs work, since entries verify themselves.
 */
public final class EntryPublisher {
    /** Prior knowledge of an object that may already exist. */
    public enum Existing {
        /** Its metadata is trusted. */
        TRUSTED,

        /** It was read as damaged, so its metadata is not trusted. */
        SUSPECT
    }

    final ObjectStore store;
    final WriteSuspension suspension;
    final Duration retention;
    final RequestCounters counters;
    final Ticker ticker;
    final RandomGenerator random;

    /**
     * Creates a publisher.
     *
     * @param suspension suspends writes after the bucket refused one
     * @param retention the age at which a lifecycle rule may delete objects; zero if there is none
     * @param ticker the clock, which also waits between attempts
     * @param random source of put ids and pauses
     */
    public EntryPublisher(
            ObjectStore store,
            WriteSuspension suspension,
            Duration retention,
            RequestCounters counters,
            Ticker ticker,
            RandomGenerator random) {
        this.store = store;
        this.suspension = suspension;
        this.retention = retention;
        this.counters = counters;
        this.ticker = ticker;
        this.random = random;
    }

    /**
     * Publishes an entry under a key, with a bounded number of requests and pauses.
     *
     * @param existing prior knowledge of the object under that key
     * @return refused also if the entry cannot be encoded
     */
    public StoreResult publish(Entry entry, String key, Existing existing) {
        WriteAttemptId putId = WriteAttemptId.random(random);
        byte[] body;
        try {
            body = EntryFormat.encode(entry, Compression.ZSTD, putId);
        } catch (IllegalArgumentException e) {
            return new StoreResult.Refused(StoreResult.Scope.ENTRY, String.valueOf(e.getMessage()));
        }
        return new EntryPublication(
                        this,
                        entry,
                        key,
                        existing,
                        body,
                        new ObjectMarks(putId.hex(), entry.contentHash().hex()))
                .run();
    }
}
