package dev.granary.s3.publish;

import dev.granary.cache.DamageKind;
import dev.granary.cache.Entry;
import dev.granary.cache.LoadResult;
import dev.granary.cache.StoreResult;
import dev.granary.cache.format.EntryFormat;
import dev.granary.cache.format.VerificationLevel;
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

/**
 * One publication of an entry: the state machine of {@link EntryPublisher}. For one thread and one
 * use.
 */
final class EntryPublication {
    private static final int MAX_STEPS = 16;

    private static final int MAX_CONFLICTS = 3;
    private static final int MAX_UNKNOWNS = 2;
    private static final Duration FIRST_PAUSE = Duration.ofMillis(50);

    private final EntryPublisher publisher;
    private final ObjectStore store;
    private final Entry entry;
    private final String key;
    private final EntryPublisher.Existing existing;
    private final byte[] body;
    private final ObjectMarks marks;
    private final WriteAttempts attempts = new WriteAttempts(this::verdict);
    private boolean isConditional = true;

    EntryPublication(
            EntryPublisher publisher,
            Entry entry,
            String key,
            EntryPublisher.Existing existing,
            byte[] body,
            ObjectMarks marks) {
        this.publisher = publisher;
        this.store = publisher.store;
        this.entry = entry;
        this.key = key;
        this.existing = existing;
        this.body = body;
        this.marks = marks;
    }

    /** The next request of a publication, or its end. */
    private sealed interface Step {
        /** A PUT that succeeds if the object is absent. */
        record Create() implements Step {}

        /** A HEAD of the existing object, which may be from an earlier attempt of this writer. */
        record Inspect() implements Step {}

        /** A GET of the existing object, to verify it and to compare it with the entry. */
        record Examine(String etag) implements Step {}

        /** A PUT that replaces that version of a damaged object. */
        record Replace(String etag) implements Step {}

        /** A PUT without a condition. */
        record Write() implements Step {}

        /** A PUT that renews the age of an identical object. */
        record Refresh(String etag) implements Step {}

        /** The end, with the result. */
        record Done(StoreResult result) implements Step {}
    }

    StoreResult run() {
        Step step = new Step.Create();
        try {
            for (int i = 0; i < MAX_STEPS; i++) {
                if (step instanceof Step.Done done) {
                    return done.result();
                }
                step = next(step);
            }
            return giveUp("the object under its key was another one in each of " + MAX_STEPS
                            + " requests, or belongs to another key")
                    .result();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return giveUp("interrupted while waiting to try again").result();
        }
    }

    private Step next(Step step) throws InterruptedException {
        return switch (step) {
            case Step.Create _ -> create();
            case Step.Inspect _ -> inspect();
            case Step.Examine examine -> examine(examine.etag());
            case Step.Replace replace -> isConditional ? replace(replace.etag()) : write();
            case Step.Write _ -> write();
            case Step.Refresh refresh -> refresh(refresh.etag());
            case Step.Done done -> done;
        };
    }

    private Step create() throws InterruptedException {
        return after(
                store.putIfAbsent(key, body, marks),
                new Step.Create(),
                refusal -> withoutConditions(refusal) ? new Step.Inspect() : refused(refusal));
    }

    /**
     * Returns the step after a write. Each retry is a step, since the number of steps bounds the
     * publication.
     */
    private Step after(WriteResult response, Step again, Function<StoreFailure, Step> afterRefusal)
            throws InterruptedException {
        return switch (attempts.after(response)) {
            case WriteVerdict.Own _ -> stored();
            case WriteVerdict.Again(Duration pause) -> {
                publisher.ticker.pause(pause);
                yield again;
            }
            case WriteVerdict.Inspect _ -> new Step.Inspect();
            case WriteVerdict.GivenUp(StoreFailure failure) -> giveUp(failure.toString());
            case WriteVerdict.Refused(StoreFailure failure) -> afterRefusal.apply(failure);
        };
    }

    /** Returns true if the publication goes on without conditions, which may be unsupported. */
    private boolean withoutConditions(StoreFailure refusal) {
        isConditional &= refusal.kind() != StoreFailure.Kind.NOT_SUPPORTED;
        return !isConditional;
    }

    /** Ends the publication. Only a refusal that is not about this object suspends writes. */
    private Step refused(StoreFailure refusal) {
        boolean isOfObject = refusal.kind() == StoreFailure.Kind.OBJECT_REFUSED;
        if (!isOfObject) {
            publisher.suspension.suspend(refusal);
        }
        String reason = refusal.toString();
        // an earlier attempt may have succeeded
        return attempts.unanswered().isEmpty()
                ? new Step.Done(new StoreResult.Refused(
                        isOfObject ? StoreResult.Scope.ENTRY : StoreResult.Scope.STORE, reason))
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
            when existing == EntryPublisher.Existing.TRUSTED
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
            case GetResult.Found found when found.marks().putId().equals(marks.putId()) -> stored();
            case GetResult.Found found ->
                switch (EntryFormat.decode(
                        found.bytes(), entry.id(), VerificationLevel.CONTENT_HASH)) {
                    case LoadResult.Hit hit
                    when hit.entry().contentHash().equals(entry.contentHash()) ->
                        duplicate(found.etag(), found.dates());
                    case LoadResult.Hit _ -> new Step.Done(StoreResult.DIVERGENT);
                    case LoadResult.Damaged bad
                    when bad.damage() == DamageKind.TOO_NEW -> new Step.Done(StoreResult.DIVERGENT);
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
                store.replaceIfMatch(key, etag, body, marks), new Step.Replace(etag), refusal -> {
                    if (withoutConditions(refusal)) {
                        return new Step.Write();
                    }
                    return refusal.kind() == StoreFailure.Kind.OBJECT_REFUSED
                            ? refused(refusal)
                            : giveUp("the existing entry could not be replaced: " + refusal);
                });
    }

    /**
     * Rewrites an entry in use that is older than half of the retention: a lifecycle rule would
     * delete it.
     */
    private Step duplicate(String etag, ServerTimestamps dates) {
        boolean isOld = !publisher.retention.isZero()
                && dates.age()
                        .filter(age -> age.compareTo(publisher.retention.dividedBy(2)) > 0)
                        .isPresent();
        return isOld ? new Step.Refresh(etag) : new Step.Done(StoreResult.DUPLICATE);
    }

    private Step refresh(String etag) {
        WriteResult result = isConditional
                ? store.replaceIfMatch(key, etag, body, marks)
                : store.put(key, body, marks);
        if (result instanceof WriteResult.NotAllowed(StoreFailure refusal)
                && isConditional
                && withoutConditions(refusal)) {
            return new Step.Refresh(etag);
        }
        switch (result) {
            case WriteResult.Done _ -> publisher.counters.refreshed.increment();
            // another writer was faster
            case WriteResult.PreconditionFailed _, WriteResult.Conflict _ -> {}
            case WriteResult.NotAllowed _, WriteResult.NotSent _, WriteResult.Unknown _ ->
                publisher.counters.refreshFailed.increment();
        }
        return new Step.Done(StoreResult.DUPLICATE);
    }

    /**
     * Handles an object that has disappeared: it was deleted meanwhile, or a pending attempt of
     * ours may still write it. Creating it again with the same put id is safe in both cases.
     */
    private Step afterDisappearance() throws InterruptedException {
        if (attempts.unknowns() > MAX_UNKNOWNS
                && (!isConditional || attempts.last() instanceof WriteResult.Unknown)) {
            return giveUp(attempts.cause());
        }
        return isConditional
                ? after(WriteResult.CONFLICT, new Step.Create(), this::refused)
                : new Step.Write();
    }

    /**
     * Returns the verdict on a response that leaves the outcome open: 3 retries after conflicts and
     * 2 after unknown outcomes, over all writes of the publication.
     */
    private WriteVerdict verdict(WriteResult response, WriteAttempts soFar) {
        return switch (response) {
            case WriteResult.Conflict _ ->
                soFar.conflicts() > MAX_CONFLICTS
                        ? new WriteVerdict.GivenUp(StoreFailure.of(
                                StoreFailure.Kind.SERVER, soFar.conflicts() + " conflicts"))
                        : again(soFar.conflicts());
            case WriteResult.Unknown(StoreFailure failure) ->
                soFar.unknowns() <= MAX_UNKNOWNS
                        ? again(soFar.unknowns())
                        : soFar.unknowns() == MAX_UNKNOWNS + 1
                                ? new WriteVerdict.Inspect()
                                : new WriteVerdict.GivenUp(failure);
            case WriteResult.PreconditionFailed _,
                    WriteResult.Done _,
                    WriteResult.NotAllowed _,
                    WriteResult.NotSent _ -> new WriteVerdict.Inspect();
        };
    }

    /** Waits a random time up to 50, 100, 200 ms (full jitter), so that colliding writers part. */
    private WriteVerdict again(int attempt) {
        long maxNanos = FIRST_PAUSE.toNanos() << (attempt - 1);
        return new WriteVerdict.Again(Duration.ofNanos(1 + publisher.random.nextLong(maxNanos)));
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
