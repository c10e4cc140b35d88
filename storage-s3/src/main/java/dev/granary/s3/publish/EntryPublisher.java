package dev.granary.s3.publish;

import dev.granary.cache.DamageKind;
import dev.granary.cache.Entry;
import dev.granary.cache.LoadResult;
import dev.granary.cache.StoreResult;
import dev.granary.cache.format.Compression;
import dev.granary.cache.format.EntryFormat;
import dev.granary.cache.format.VerificationLevel;
import dev.granary.cache.format.WriteAttemptId;
import dev.granary.cache.support.Ticker;
import dev.granary.s3.probe.Capabilities;
import dev.granary.s3.probe.ConditionalWriteSupport;
import dev.granary.s3.resilience.RequestCounters;
import dev.granary.s3.resilience.WriteSuspension;
import dev.granary.s3.store.GetResult;
import dev.granary.s3.store.HeadResult;
import dev.granary.s3.store.ObjectMarks;
import dev.granary.s3.store.ObjectStore;
import dev.granary.s3.store.ServerTimestamps;
import dev.granary.s3.store.StoreFailure;
import dev.granary.s3.store.WriteResult;
import java.time.Duration;
import java.util.random.RandomGenerator;

/**
 * Publishes entries: first writer wins, and a writer whose answer was lost finds out whether it was the one.
 *
 * <p>A small machine of steps. In the good case it is one request, a PUT with {@code If-None-Match: *} that carries a random put id. Any
 * other answer leads to another step; each step that could go on for ever is bounded.
 *
 * <table>
 * <caption>The steps</caption>
 * <tr><th>step</th><th>answer</th><th>next</th></tr>
 * <tr><td>create</td><td>done</td><td>stored</td></tr>
 * <tr><td></td><td>there is one</td><td>inspect: someone's, or mine whose answer was lost</td></tr>
 * <tr><td></td><td>conflict</td><td>create again after a pause, at most three times</td></tr>
 * <tr><td></td><td>unknown</td><td>create again after a pause with the same put id, at most twice; then inspect</td></tr>
 * <tr><td></td><td>not supported</td><td>inspect, where a trial shows that plain writes work; else as not allowed</td></tr>
 * <tr><td></td><td>not allowed</td><td>refused, or unknown where an earlier attempt may have landed; the tier is only read for a while</td></tr>
 * <tr><td>inspect (HEAD)</td><td>my put id</td><td>stored</td></tr>
 * <tr><td></td><td>same content hash and length, no suspicion</td><td>duplicate; refresh where it is old</td></tr>
 * <tr><td></td><td>else</td><td>examine</td></tr>
 * <tr><td></td><td>absent</td><td>create again where no earlier attempt may still land; else unknown</td></tr>
 * <tr><td>examine (GET)</td><td>sound</td><td>duplicate (refresh where it is old) or divergent; the first stays</td></tr>
 * <tr><td></td><td>of a newer format</td><td>divergent: a newer version of Granary reads it, and would replace this one's in turn</td></tr>
 * <tr><td></td><td>damaged, too large</td><td>replace that version</td></tr>
 * <tr><td>replace (If-Match)</td><td>done</td><td>stored</td></tr>
 * <tr><td></td><td>precondition failed, unknown</td><td>inspect</td></tr>
 * <tr><td></td><td>not supported</td><td>overwrite</td></tr>
 * <tr><td>refresh (If-Match)</td><td>whatever</td><td>duplicate</td></tr>
 * </table>
 *
 * <p>By what the server keeps: with {@link ConditionalWriteSupport#CREATE_ONLY} a damaged entry is overwritten by a plain PUT (it is of no use to
 * anybody), and an old duplicate too (by the same content). With {@link ConditionalWriteSupport#NONE} inspecting comes first, and what is absent is
 * written by a plain PUT: two writers may then overwrite one another, which costs work and nothing else, since entries verify themselves.
 */
public final class EntryPublisher {
    /** What is known of the object that may be there already. */
    public enum Existing {
        /** Nothing speaks against its metadata. */
        TRUSTED,
        /** It was read as damaged: its metadata does not count. */
        SUSPECT
    }

    private static final int MAX_CONFLICTS = 3;
    private static final int MAX_UNKNOWNS = 2;
    private static final int MAX_STEPS = 16;
    private static final Duration FIRST_PAUSE = Duration.ofMillis(50);

    private final ObjectStore store;
    private final Capabilities capabilities;
    private final WriteSuspension pause;
    private final Duration retention;
    private final RequestCounters counters;
    private final Ticker timing;
    private final RandomGenerator random;

    public EntryPublisher(ObjectStore store, Capabilities capabilities, WriteSuspension pause, Duration retention, RequestCounters counters, Ticker timing,
            RandomGenerator random) {
        this.store = store;
        this.capabilities = capabilities;
        this.pause = pause;
        this.retention = retention;
        this.counters = counters;
        this.timing = timing;
        this.random = random;
    }

    public StoreResult publish(Entry entry, String key, Existing existing) {
        WriteAttemptId putId = WriteAttemptId.random(random);
        byte[] body;
        try {
            body = EntryFormat.encode(entry, Compression.ZSTD, putId);
        } catch (IllegalArgumentException e) {
            return new StoreResult.Refused(String.valueOf(e.getMessage()));
        }
        return new Publication(entry, key, existing, body, new ObjectMarks(putId.hex(), entry.contentHash().hex())).run();
    }

    private sealed interface Step {
        record Create() implements Step {}

        record Inspect() implements Step {}

        record Examine(String etag) implements Step {}

        record Replace(String etag) implements Step {}

        /** A PUT without a condition. */
        record Write() implements Step {}

        record Refresh(String etag) implements Step {}

        record Done(StoreResult result) implements Step {}
    }

    /** One publication under way. */
    private final class Publication {
        private final Entry entry;
        private final String key;
        private final Existing existing;
        private final byte[] body;
        private final ObjectMarks marks;
        private ConditionalWriteSupport conditions;
        private int conflicts;
        private int unknowns;
        private String lastTrouble = "";

        Publication(Entry entry, String key, Existing existing, byte[] body, ObjectMarks marks) {
            this.entry = entry;
            this.key = key;
            this.existing = existing;
            this.body = body;
            this.marks = marks;
            this.conditions = capabilities.conditionalWrites();
        }

        StoreResult run() {
            Step step = begin();
            try {
                for (int i = 0; i < MAX_STEPS; i++) {
                    if (step instanceof Step.Done done) {
                        return done.result();
                    }
                    step = next(step);
                }
                return givenUp("no end after " + MAX_STEPS + " steps: " + lastTrouble).result();
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                return givenUp("interrupted while waiting to try again").result();
            }
        }

        private Step begin() {
            return conditions == ConditionalWriteSupport.NONE ? new Step.Inspect() : new Step.Create();
        }

        private Step next(Step step) throws InterruptedException {
            return switch (step) {
                case Step.Create _ -> create();
                case Step.Inspect _ -> inspect();
                case Step.Examine examine -> examine(examine.etag());
                case Step.Replace replace -> conditions == ConditionalWriteSupport.FULL ? replace(replace.etag()) : write();
                case Step.Write _ -> write();
                case Step.Refresh refresh -> refresh(refresh.etag());
                case Step.Done done -> done;
            };
        }

        private Step create() throws InterruptedException {
            return switch (store.putIfAbsent(key, body, marks)) {
                case WriteResult.Done _ -> stored();
                case WriteResult.PreconditionFailed _ -> new Step.Inspect();
                case WriteResult.Conflict _ -> afterConflict(new Step.Create());
                case WriteResult.Unknown unknown -> afterUnknown(unknown.failure(), new Step.Create());
                case WriteResult.NotSent unsent -> givenUp(unsent.failure().toString());
                case WriteResult.NotAllowed refused when refused.failure().kind() == StoreFailure.Kind.NOT_SUPPORTED ->
                    unconditionally(refused.failure());
                case WriteResult.NotAllowed refused -> refused(refused.failure());
            };
        }

        /** The server may refuse the condition or the write: who cannot tell would never write to a server without conditions. */
        private Step unconditionally(StoreFailure refusal) {
            conditions = capabilities.conditionalWritesRefused();
            return conditions == ConditionalWriteSupport.NONE ? new Step.Inspect() : refused(refusal);
        }

        private Step refused(StoreFailure refusal) {
            pause.begin(refusal);
            String reason = refusal.toString();
            return unknowns == 0 ? new Step.Done(new StoreResult.Refused(reason)) : givenUp(reason); // an earlier attempt may have landed
        }

        private Step write() throws InterruptedException {
            return switch (store.put(key, body, marks)) {
                case WriteResult.Done _ -> stored();
                case WriteResult.Conflict _ -> afterConflict(new Step.Inspect());
                case WriteResult.Unknown unknown -> afterUnknown(unknown.failure(), new Step.Inspect());
                case WriteResult.NotSent unsent -> givenUp(unsent.failure().toString());
                case WriteResult.NotAllowed refused -> refused(refused.failure());
                case WriteResult.PreconditionFailed _ -> givenUp("a write without a condition failed its precondition");
            };
        }

        private Step inspect() throws InterruptedException {
            return switch (store.head(key)) {
                case HeadResult.Found found when found.marks().putId().equals(marks.putId()) -> stored();
                case HeadResult.Found found when existing == Existing.TRUSTED && found.bytes() == body.length
                        && found.marks().sha256().equals(marks.sha256()) -> // another length is another metadata, or a part of an entry
                    duplicate(found.etag(), found.dates());
                case HeadResult.Found found -> new Step.Examine(found.etag());
                case HeadResult.Absent _ -> vanished();
                case HeadResult.Unavailable lost -> givenUp("whose entry it is could not be asked: " + lost.failure());
            };
        }

        private Step examine(String etag) throws InterruptedException {
            return switch (store.get(key, EntryFormat.MAX_BYTES)) {
                case GetResult.Found found when found.marks().putId().equals(marks.putId()) -> stored();
                case GetResult.Found found -> switch (EntryFormat.decode(found.bytes(), entry.id(), VerificationLevel.CONTENT_HASH)) {
                    case LoadResult.Hit hit when hit.entry().contentHash().equals(entry.contentHash()) ->
                        duplicate(found.etag(), found.dates());
                    case LoadResult.Hit _ -> new Step.Done(StoreResult.DIVERGENT);
                    case LoadResult.Damaged bad when bad.damage() == DamageKind.TOO_NEW -> new Step.Done(StoreResult.DIVERGENT);
                    case LoadResult.Damaged bad when bad.damage() == DamageKind.TOO_LARGE -> givenUp("the entry in the way cannot be read here: " + bad.detail());
                    case LoadResult.Damaged _ -> new Step.Replace(found.etag());
                    case LoadResult.Absent _, LoadResult.Unavailable _ -> throw new IllegalStateException("Decoding ends in a hit or damage");
                };
                case GetResult.TooLarge _ -> new Step.Replace(etag);
                case GetResult.Absent _ -> vanished();
                case GetResult.Unavailable lost -> givenUp("the entry in the way could not be read: " + lost.failure());
            };
        }

        private Step replace(String etag) throws InterruptedException {
            return switch (store.replaceIfMatch(key, etag, body, marks)) {
                case WriteResult.Done _ -> stored();
                case WriteResult.PreconditionFailed _ -> new Step.Inspect();
                case WriteResult.Conflict _ -> afterConflict(new Step.Replace(etag));
                case WriteResult.Unknown unknown -> afterUnknown(unknown.failure(), new Step.Replace(etag));
                case WriteResult.NotSent unsent -> givenUp(unsent.failure().toString());
                case WriteResult.NotAllowed refused when refused.failure().kind() == StoreFailure.Kind.NOT_SUPPORTED -> new Step.Write();
                case WriteResult.NotAllowed refused ->
                    givenUp("the damaged entry in the way could not be replaced: " + refused.failure());
            };
        }

        /** What is in use and half as old as a lifecycle rule lets it become is written anew, else it would vanish while it is in use. */
        private Step duplicate(String etag, ServerTimestamps dates) {
            boolean isOld = !retention.isZero() && dates.age().filter(age -> age.compareTo(retention.dividedBy(2)) > 0).isPresent();
            return isOld ? new Step.Refresh(etag) : new Step.Done(StoreResult.DUPLICATE);
        }

        private Step refresh(String etag) {
            WriteResult result = conditions == ConditionalWriteSupport.FULL
                    ? store.replaceIfMatch(key, etag, body, marks) : store.put(key, body, marks);
            switch (result) {
                case WriteResult.Done _ -> counters.refreshed.increment();
                case WriteResult.PreconditionFailed _, WriteResult.Conflict _ -> { } // somebody else was faster
                case WriteResult.NotAllowed _, WriteResult.NotSent _, WriteResult.Unknown _ -> counters.refreshFailed.increment();
            }
            return new Step.Done(StoreResult.DUPLICATE);
        }

        private Step afterConflict(Step again) throws InterruptedException {
            lastTrouble = "other writers were faster";
            if (++conflicts > MAX_CONFLICTS) {
                return givenUp("a conflict, " + conflicts + " times");
            }
            backOff(conflicts);
            return again;
        }

        private Step afterUnknown(StoreFailure failure, Step again) throws InterruptedException {
            lastTrouble = failure.toString();
            if (++unknowns > MAX_UNKNOWNS) {
                return unknowns == MAX_UNKNOWNS + 1 ? new Step.Inspect() : givenUp(lastTrouble);
            }
            backOff(unknowns);
            return again;
        }

        /** Nothing is there, although something was: a deletion, or an attempt of ours that has not landed and may still do so. */
        private Step vanished() throws InterruptedException {
            if (conditions == ConditionalWriteSupport.NONE) {
                return unknowns > MAX_UNKNOWNS ? givenUp(lastTrouble) : new Step.Write();
            }
            return unknowns > 0 ? givenUp(lastTrouble) : afterConflict(new Step.Create());
        }

        private Step.Done stored() {
            return new Step.Done(new StoreResult.Stored(body.length));
        }

        /** Nothing was stored, or nobody can know: the latter where an attempt went without an answer. */
        private Step.Done givenUp(String cause) {
            return new Step.Done(unknowns == 0 ? new StoreResult.Failed(cause) : new StoreResult.Unknown(cause));
        }

        /** Waits a random time up to 50 ms, 100 ms, 200 ms (full jitter), so that writers that met do not meet again. */
        private void backOff(int attempt) throws InterruptedException {
            long most = FIRST_PAUSE.toNanos() << (attempt - 1);
            timing.pause(Duration.ofNanos(1 + random.nextLong(most)));
        }
    }
}
