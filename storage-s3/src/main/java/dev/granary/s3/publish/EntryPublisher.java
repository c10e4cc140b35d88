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
import dev.granary.s3.write.WriteAttempts;
import dev.granary.s3.write.WriteVerdict;

import java.time.Duration;
import java.util.function.Function;
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
 *     <td>inspect if a probe finds that plain writes work; else as not allowed</td></tr>
 * <tr><td></td><td>not allowed</td>
 *     <td>refused, or unknown after an ambiguous attempt; writes are suspended</td></tr>
 * <tr><td>inspect (HEAD)</td><td>our put id</td><td>stored</td></tr>
 * <tr><td></td><td>same content hash and length, trusted</td>
 *     <td>duplicate; refresh if it is old</td></tr>
 * <tr><td></td><td>else</td><td>examine</td></tr>
 * <tr><td></td><td>absent</td>
 *     <td>create again if no earlier attempt is pending; else unknown</td></tr>
 * <tr><td>examine (GET)</td><td>sound</td>
 *     <td>duplicate (refresh if it is old) or divergent; the first stays</td></tr>
 * <tr><td></td><td>of a newer format</td>
 *     <td>divergent: a newer Granary reads it, and would replace ours in turn</td></tr>
 * <tr><td></td><td>damaged, too large</td><td>replace that version</td></tr>
 * <tr><td>replace (If-Match)</td><td>done</td><td>stored</td></tr>
 * <tr><td></td><td>precondition failed, unknown</td><td>inspect</td></tr>
 * <tr><td></td><td>not supported</td><td>overwrite</td></tr>
 * <tr><td>refresh (If-Match)</td><td>any</td><td>duplicate</td></tr>
 * </table>
 *
 * <p>With {@link ConditionalWriteSupport#CREATE_ONLY}, a damaged entry is overwritten by a plain
 * PUT (it is unusable), and so is an old duplicate (by the same content). With
 * {@link ConditionalWriteSupport#NONE}, inspection comes first, and an absent entry is written by a
 * plain PUT. Two writers may then overwrite each other, which only costs work, since entries verify
 * themselves.
 */
public final class EntryPublisher {
    /** Prior knowledge of an object that may already exist. */
    public enum Existing {
        /** Its metadata is trusted. */
        TRUSTED,
        /** It was read as damaged, so its metadata is not trusted. */
        SUSPECT
    }

    private static final int MAX_STEPS = 16;

    private final ObjectStore store;
    private final Capabilities capabilities;
    private final WriteSuspension suspension;
    private final Duration retention;
    private final RequestCounters counters;
    private final Ticker ticker;
    private final RandomGenerator random;

    public EntryPublisher(
            ObjectStore store,
            Capabilities capabilities,
            WriteSuspension suspension,
            Duration retention,
            RequestCounters counters,
            Ticker ticker,
            RandomGenerator random) {
        this.store = store;
        this.capabilities = capabilities;
        this.suspension = suspension;
        this.retention = retention;
        this.counters = counters;
        this.ticker = ticker;
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
        return new Publication(
                        entry,
                        key,
                        existing,
                        body,
                        new ObjectMarks(putId.hex(), entry.contentHash().hex()))
                .run();
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

    /** One publication in progress. */
    private final class Publication {
        private final Entry entry;
        private final String key;
        private final Existing existing;
        private final byte[] body;
        private final ObjectMarks marks;
        private final WriteAttempts attempts = new WriteAttempts(new PublishRetryPolicy(random));
        private ConditionalWriteSupport conditions;

        Publication(Entry entry, String key, Existing existing, byte[] body, ObjectMarks marks) {
            this.entry = entry;
            this.key = key;
            this.existing = existing;
            this.body = body;
            this.marks = marks;
            this.conditions = capabilities.conditionalWrites();
        }

        StoreResult run() {
            Step step = firstStep();
            try {
                for (int i = 0; i < MAX_STEPS; i++) {
                    if (step instanceof Step.Done done) {
                        return done.result();
                    }
                    step = next(step);
                }
                return giveUp("not finished after " + MAX_STEPS + " steps: " + attempts.cause())
                        .result();
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                return giveUp("interrupted while waiting to try again").result();
            }
        }

        private Step firstStep() {
            return conditions == ConditionalWriteSupport.NONE
                    ? new Step.Inspect()
                    : new Step.Create();
        }

        private Step next(Step step) throws InterruptedException {
            return switch (step) {
                case Step.Create _ -> create();
                case Step.Inspect _ -> inspect();
                case Step.Examine examine -> examine(examine.etag());
                case Step.Replace replace ->
                    conditions == ConditionalWriteSupport.FULL ? replace(replace.etag()) : write();
                case Step.Write _ -> write();
                case Step.Refresh refresh -> refresh(refresh.etag());
                case Step.Done done -> done;
            };
        }

        private Step create() throws InterruptedException {
            return after(
                    store.putIfAbsent(key, body, marks),
                    new Step.Create(),
                    refusal -> refusal.kind() == StoreFailure.Kind.NOT_SUPPORTED
                            ? afterUnsupported(refusal)
                            : refused(refusal));
        }

        /**
         * Returns the step after a write. Each retry is a step, since the number of steps bounds
         * the publication.
         */
        private Step after(
                WriteResult response, Step again, Function<StoreFailure, Step> afterRefusal)
                throws InterruptedException {
            return switch (attempts.after(response)) {
                case WriteVerdict.Own _ -> stored();
                case WriteVerdict.Again(Duration pause) -> {
                    ticker.pause(pause);
                    yield again;
                }
                case WriteVerdict.Inspect _ -> new Step.Inspect();
                case WriteVerdict.GivenUp(StoreFailure failure) -> giveUp(failure.toString());
                case WriteVerdict.Refused(StoreFailure failure) -> afterRefusal.apply(failure);
            };
        }

        /**
         * Probes whether the server refuses the condition or the write. Without that, servers
         * without conditions would never be written.
         */
        private Step afterUnsupported(StoreFailure refusal) {
            conditions = capabilities.conditionalWritesRefused();
            return conditions == ConditionalWriteSupport.NONE
                    ? new Step.Inspect()
                    : refused(refusal);
        }

        private Step refused(StoreFailure refusal) {
            suspension.suspend(refusal);
            String reason = refusal.toString();
            // an earlier attempt may have succeeded
            return attempts.unanswered().isEmpty()
                    ? new Step.Done(new StoreResult.Refused(reason))
                    : giveUp(reason);
        }

        private Step write() throws InterruptedException {
            WriteResult response = store.put(key, body, marks);
            return response instanceof WriteResult.PreconditionFailed
                    ? giveUp("a write without a condition failed its precondition")
                    : after(response, new Step.Inspect(), this::refused);
        }

        private Step inspect() throws InterruptedException {
            return switch (store.head(key)) {
                case HeadResult.Found found
                when found.marks().putId().equals(marks.putId()) -> stored();
                case HeadResult.Found found
                when existing == Existing.TRUSTED
                        && found.bytes() == body.length
                        // another length means other metadata, or a truncated entry
                        && found.marks().sha256().equals(marks.sha256()) ->
                    duplicate(found.etag(), found.dates());
                case HeadResult.Found found -> new Step.Examine(found.etag());
                case HeadResult.Absent _ -> afterDisappearance();
                case HeadResult.Unavailable lost ->
                    giveUp("the existing entry could not be inspected: " + lost.failure());
            };
        }

        private Step examine(String etag) throws InterruptedException {
            return switch (store.get(key, EntryFormat.MAX_BYTES)) {
                case GetResult.Found found
                when found.marks().putId().equals(marks.putId()) -> stored();
                case GetResult.Found found ->
                    switch (EntryFormat.decode(
                            found.bytes(), entry.id(), VerificationLevel.CONTENT_HASH)) {
                        case LoadResult.Hit hit
                        when hit.entry().contentHash().equals(entry.contentHash()) ->
                            duplicate(found.etag(), found.dates());
                        case LoadResult.Hit _ -> new Step.Done(StoreResult.DIVERGENT);
                        case LoadResult.Damaged bad
                        when bad.damage() == DamageKind.TOO_NEW ->
                            new Step.Done(StoreResult.DIVERGENT);
                        case LoadResult.Damaged bad
                        when bad.damage() == DamageKind.TOO_LARGE ->
                            giveUp("the existing entry cannot be read here: " + bad.detail());
                        case LoadResult.Damaged _ -> new Step.Replace(found.etag());
                        case LoadResult.Absent _, LoadResult.Unavailable _ ->
                            throw new IllegalStateException("Decoding ends in a hit or damage");
                    };
                case GetResult.TooLarge _ -> new Step.Replace(etag);
                case GetResult.Absent _ -> afterDisappearance();
                case GetResult.Unavailable lost ->
                    giveUp("the existing entry could not be read: " + lost.failure());
            };
        }

        private Step replace(String etag) throws InterruptedException {
            return after(
                    store.replaceIfMatch(key, etag, body, marks),
                    new Step.Replace(etag),
                    refusal -> refusal.kind() == StoreFailure.Kind.NOT_SUPPORTED
                            ? new Step.Write()
                            : giveUp("the existing damaged entry could not be replaced: "
                                    + refusal));
        }

        /**
         * Rewrites an entry in use that is older than half of the retention: a lifecycle rule would
         * delete it.
         */
        private Step duplicate(String etag, ServerTimestamps dates) {
            boolean isOld = !retention.isZero()
                    && dates.age()
                            .filter(age -> age.compareTo(retention.dividedBy(2)) > 0)
                            .isPresent();
            return isOld ? new Step.Refresh(etag) : new Step.Done(StoreResult.DUPLICATE);
        }

        private Step refresh(String etag) {
            WriteResult result = conditions == ConditionalWriteSupport.FULL
                    ? store.replaceIfMatch(key, etag, body, marks)
                    : store.put(key, body, marks);
            switch (result) {
                case WriteResult.Done _ -> counters.refreshed.increment();
                // another writer was faster
                case WriteResult.PreconditionFailed _, WriteResult.Conflict _ -> {}
                case WriteResult.NotAllowed _, WriteResult.NotSent _, WriteResult.Unknown _ ->
                    counters.refreshFailed.increment();
            }
            return new Step.Done(StoreResult.DUPLICATE);
        }

        /**
         * Handles an object that has disappeared: it was deleted, or a pending attempt of ours may
         * still write it.
         */
        private Step afterDisappearance() throws InterruptedException {
            if (conditions == ConditionalWriteSupport.NONE) {
                return attempts.unknowns() > PublishRetryPolicy.MAX_UNKNOWNS
                        ? giveUp(attempts.cause())
                        : new Step.Write();
            }
            return attempts.unanswered().isPresent()
                    ? giveUp(attempts.cause())
                    : after(WriteResult.CONFLICT, new Step.Create(), this::refused);
        }

        private Step.Done stored() {
            return new Step.Done(new StoreResult.Stored(body.length));
        }

        /** Returns failed, or unknown if an attempt got no response. */
        private Step.Done giveUp(String cause) {
            return new Step.Done(
                    attempts.unanswered().isEmpty()
                            ? new StoreResult.Failed(cause)
                            : new StoreResult.Unknown(cause));
        }
    }
}
