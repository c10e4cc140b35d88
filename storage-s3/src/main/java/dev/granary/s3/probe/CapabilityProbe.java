package dev.granary.s3.probe;

import static dev.granary.s3.store.StoreFailure.Kind.NOT_SUPPORTED;

import dev.granary.cache.CheckResult;
import dev.granary.cache.support.Ticker;
import dev.granary.s3.layout.BucketLayout;
import dev.granary.s3.store.GetResult;
import dev.granary.s3.store.HeadResult;
import dev.granary.s3.store.ListResult;
import dev.granary.s3.store.ObjectStore;
import dev.granary.s3.store.StoreFailure;
import dev.granary.s3.store.WriteResult;

import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.random.RandomGenerator;

/**
 * Determines the capabilities of a server with about 90 small requests. The objects have unique
 * names, and are deleted afterwards if deletion is allowed. For one use.
 */
public final class CapabilityProbe {
    private static final byte[] BODY = {'g', 'r', 'a', 'n', 'a', 'r', 'y'};
    private static final byte[] OTHER = {'o', 't', 'h', 'e', 'r'};
    private static final String NO_SUCH_VERSION = "00000000000000000000000000000000";

    private final ObjectStore store;
    private final ProbeObjects objects;
    private final List<CheckResult> results = new ArrayList<>();
    private long serverMillis;

    /** Creates a probe; {@code store} should neither retry nor report to the circuit breaker. */
    public CapabilityProbe(
            ObjectStore store, BucketLayout layout, Ticker ticker, RandomGenerator random) {
        this.store = store;
        this.objects = new ProbeObjects(store, layout, ticker, random);
    }

    ProbeResult run() {
        try {
            return probe();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return stopped(StoreFailure.of(
                    StoreFailure.Kind.TIMEOUT, "interrupted while probing the bucket"));
        } finally {
            // clients send no request for an interrupted thread
            boolean wasInterrupted = Thread.interrupted();
            objects.deleteAll();
            if (wasInterrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    private ProbeResult probe() throws InterruptedException {
        String key = objects.key();
        return switch (creations(key)) {
            case ProbeStep.Aborted aborted -> stopped(aborted.failure());
            case ProbeStep.Broken broken -> withoutConditions(key, broken);
            case ProbeStep.Passed _ -> {
                sound("exactly one of " + ConditionalWriteRace.RACERS + " concurrent creates wins");
                yield withCreation(key);
            }
        };
    }

    private ProbeResult withoutConditions(String key, ProbeStep.Broken broken)
            throws InterruptedException {
        WriteResult plain = objects.write(() -> store.put(key, BODY, objects.marks()));
        if (!(plain instanceof WriteResult.Done)) {
            return stopped(failure(plain));
        }
        notice(
                "create if absent is not honoured: " + broken.how(),
                "entries are written after a HEAD request, and two machines may do the same work;"
                        + " no packs, claims or leases in this bucket");
        return probed(ConditionalWriteSupport.NONE, key);
    }

    private ProbeResult withCreation(String key) throws InterruptedException {
        return switch (replacements()) {
            case ProbeStep.Aborted aborted -> stopped(aborted.failure());
            case ProbeStep.Broken broken -> {
                notice(
                        "replacing a version is not honoured: " + broken.how(),
                        "damaged entries are overwritten instead; no claims or leases in this"
                                + " bucket");
                yield probed(ConditionalWriteSupport.CREATE_ONLY, key);
            }
            case ProbeStep.Passed _ -> {
                sound("exactly one of " + ConditionalWriteRace.RACERS
                        + " concurrent replacements wins");
                yield probed(ConditionalWriteSupport.FULL, key);
            }
        };
    }

    private ProbeResult probed(ConditionalWriteSupport writes, String key) {
        metadata(key);
        rangeRead(key);
        listing(key);
        ConditionalDeleteSupport deletion = deletion(key);
        return new ProbeResult.Probed(writes, deletion, serverMillis, List.copyOf(results));
    }

    private ProbeStep creations(String key) throws InterruptedException {
        WriteResult first = objects.create(key, BODY);
        if (!(first instanceof WriteResult.Done)) {
            return refused(first, "an absent object is not created");
        }
        WriteResult second = objects.write(() -> store.putIfAbsent(key, OTHER, objects.marks()));
        if (!(second instanceof WriteResult.PreconditionFailed
                || second instanceof WriteResult.Conflict)) {
            return refused(second, "a second create of one object succeeded");
        }
        sound("a second create of one object is refused");
        ProbeStep afterDeletion = createAfterDeletion();
        return afterDeletion instanceof ProbeStep.Passed
                ? new ConditionalWriteRace(store).run(createRace())
                : afterDeletion;
    }

    /** Checks a create after a delete: some servers still see the deleted object. */
    private ProbeStep createAfterDeletion() throws InterruptedException {
        String key = objects.key();
        WriteResult created = objects.create(key, BODY);
        if (!(created instanceof WriteResult.Done)) {
            return refused(created, "an absent object is not created");
        }
        if (!(objects.delete(key) instanceof WriteResult.Done)) {
            notice(
                    "deleting is not allowed",
                    "Granary publishes without it; the objects of the probe stay, and may be"
                            + " deleted");
            return ProbeStep.PASSED;
        }
        WriteResult again = objects.create(key, BODY);
        if (!(again instanceof WriteResult.Done)) {
            return refused(again, "a deleted object is not created again");
        }
        sound("a deleted object can be created again");
        return ProbeStep.PASSED;
    }

    private ConditionalWriteRace.Setup createRace() {
        return new ConditionalWriteRace.Setup() {
            @Override
            public Optional<String> key() {
                return Optional.of(objects.key());
            }

            @Override
            public ConditionalWriteRace.Racer racer(String key) {
                return body -> store.putIfAbsent(key, body, objects.marks());
            }
        };
    }

    private ProbeStep replacements() throws InterruptedException {
        String key = objects.key();
        if (!(objects.create(key, BODY) instanceof WriteResult.Done created)) {
            return new ProbeStep.Aborted(StoreFailure.of(
                    StoreFailure.Kind.SERVER, "an object to replace could not be created"));
        }
        WriteResult current = store.replaceIfMatch(key, created.etag(), OTHER, objects.marks());
        if (current instanceof WriteResult.NotAllowed
                || current instanceof WriteResult.PreconditionFailed) {
            return refused(current, "the current version is not replaced");
        }
        String old = current instanceof WriteResult.Done ? created.etag() : NO_SUCH_VERSION;
        WriteResult stale =
                objects.write(() -> store.replaceIfMatch(key, old, BODY, objects.marks()));
        if (!(stale instanceof WriteResult.PreconditionFailed)) {
            return refused(stale, "a stale version was replaced");
        }
        sound("a stale version is not replaced");
        String absent = objects.key();
        WriteResult replacedAbsent = objects.write(
                () -> store.replaceIfMatch(absent, created.etag(), BODY, objects.marks()));
        if (!(replacedAbsent instanceof WriteResult.PreconditionFailed)) {
            return refused(replacedAbsent, "an absent object was replaced");
        }
        sound("an absent object is not replaced");
        return new ConditionalWriteRace(store).run(replaceRace());
    }

    private ConditionalWriteRace.Setup replaceRace() {
        return new ConditionalWriteRace.Setup() {
            private String etag = "";

            @Override
            public Optional<String> key() throws InterruptedException {
                String key = objects.key();
                if (!(objects.create(key, BODY) instanceof WriteResult.Done created)) {
                    return Optional.empty();
                }
                etag = created.etag();
                return Optional.of(key);
            }

            @Override
            public ConditionalWriteRace.Racer racer(String key) {
                return body -> store.replaceIfMatch(key, etag, body, objects.marks());
            }
        };
    }

    private void metadata(String key) {
        switch (store.head(key)) {
            case HeadResult.Found found -> {
                serverMillis = found.dates().nowMillis();
                if (found.marks().equals(objects.marks())) {
                    sound("metadata is returned unchanged");
                } else {
                    notice(
                            "metadata is lost or changed",
                            "the writer of an entry is then determined by a GET; look for a proxy"
                                    + " that removes headers");
                }
            }
            case HeadResult.Absent _ ->
                notice("a new object is reported as absent", "lookups may miss new entries");
            case HeadResult.Unavailable lost ->
                notice(
                        "a HEAD fails: " + lost.failure(),
                        "the writer of an entry cannot be determined");
        }
    }

    private void rangeRead(String key) {
        byte[] expected = Arrays.copyOfRange(BODY, 2, 5);
        if (store.range(key, 2, 3) instanceof GetResult.Found found
                && Arrays.equals(expected, found.bytes().toArray(ValueLayout.JAVA_BYTE))) {
            sound("a range of an object can be read");
        } else {
            notice(
                    "a range of an object cannot be read",
                    "entries in packs cannot be read; look for a proxy that changes the Range"
                            + " header");
        }
    }

    private void listing(String key) {
        List<String> seen = new ArrayList<>();
        switch (store.list(objects.prefix(), object -> seen.add(object.key()))) {
            case ListResult.Complete _
            when seen.contains(key) -> sound("a listing contains a new object");
            case ListResult.Complete _ ->
                notice("a listing lacks a new object", "granary ls and clean-up see it late");
            case ListResult.Unavailable lost
            when lost.failure().kind() == StoreFailure.Kind.DENIED ->
                notice(
                        "listing is not allowed",
                        "allow s3:ListBucket: granary ls needs it, and without it some servers"
                                + " report an absent object as forbidden");
            case ListResult.Unavailable lost ->
                notice("a listing fails: " + lost.failure(), "granary ls and clean-up do not work");
        }
    }

    private ConditionalDeleteSupport deletion(String key) {
        return switch (store.deleteIfMatch(key, NO_SUCH_VERSION)) {
            case WriteResult.PreconditionFailed _, WriteResult.Conflict _ -> {
                sound("conditional deletion is honoured: a stale version is not deleted");
                yield ConditionalDeleteSupport.HONOURED;
            }
            case WriteResult.Done _ -> notHonoured("a stale version is deleted");
            case WriteResult.NotAllowed refused
            when refused.failure().kind() == NOT_SUPPORTED -> notHonoured("it is refused");
            case WriteResult.NotAllowed _, WriteResult.NotSent _, WriteResult.Unknown _ ->
                ConditionalDeleteSupport.UNTESTED;
        };
    }

    private ConditionalDeleteSupport notHonoured(String how) {
        notice(
                "conditional deletion is not honoured: " + how,
                "publication does not need it; clean-up reads an object before it deletes it");
        return ConditionalDeleteSupport.NOT_HONOURED;
    }

    private static ProbeStep refused(WriteResult result, String what) {
        StoreFailure failure = failure(result);
        boolean isAnswer = result instanceof WriteResult.Done
                || result instanceof WriteResult.PreconditionFailed
                || result instanceof WriteResult.Conflict;
        return isAnswer
                ? new ProbeStep.Broken(what)
                : failure.kind() == NOT_SUPPORTED
                        ? new ProbeStep.Broken("it is refused (" + failure + ")")
                        : new ProbeStep.Aborted(failure);
    }

    private static StoreFailure failure(WriteResult result) {
        return switch (result) {
            case WriteResult.NotAllowed refused -> refused.failure();
            case WriteResult.NotSent unsent -> unsent.failure();
            case WriteResult.Unknown unknown -> unknown.failure();
            case WriteResult.PreconditionFailed _, WriteResult.Conflict _, WriteResult.Done _ ->
                StoreFailure.of(
                        StoreFailure.Kind.SERVER, "endless conflicts on an object with one writer");
        };
    }

    private ProbeResult stopped(StoreFailure failure) {
        return failure.isTransient() || failure.isUnsent()
                ? new ProbeResult.Unavailable(failure, List.copyOf(results))
                : new ProbeResult.NotAllowed(failure, List.copyOf(results));
    }

    private void sound(String finding) {
        results.add(new CheckResult.Sound(finding));
    }

    private void notice(String finding, String advice) {
        results.add(new CheckResult.Notice(finding, advice));
    }
}
