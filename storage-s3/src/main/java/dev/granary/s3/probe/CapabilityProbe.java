package dev.granary.s3.probe;

import static dev.granary.s3.store.StoreFailure.Kind.NOT_SUPPORTED;

import dev.granary.cache.support.CheckResult;
import dev.granary.cache.support.Ticker;
import dev.granary.s3.layout.BucketLayout;
import dev.granary.s3.store.GetResult;
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
    static final String NO_SUCH_VERSION = "00000000000000000000000000000000";
    private static final byte[] BODY = {'g', 'r', 'a', 'n', 'a', 'r', 'y'};
    private static final byte[] OTHER = {'o', 't', 'h', 'e', 'r'};

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

    /** Runs all steps. */
    ProbeResult run() {
        return end(() -> {
            String key = objects.key();
            ConditionalWriteSupport writes = writes(key);
            rangeRead(key);
            listing(key);
            return new CapabilityMarker.Verdict(writes, honoursConditionalDelete(key));
        });
    }

    /**
     * Runs the steps for a server whose conditions are documented to be exact: two creates and a
     * deletion.
     */
    ProbeResult runDocumented() {
        return end(() -> {
            String key = objects.key();
            twoCreates(key);
            return new CapabilityMarker.Verdict(
                    ConditionalWriteSupport.FULL, honoursConditionalDelete(key));
        });
    }

    /** Returns false if the objects of a probe would stay. */
    boolean isDeletionAllowed() {
        return objects.isDeletionAllowed();
    }

    /** Runs the steps that need no new object, for a server with a known verdict. */
    ProbeResult runAgain(CapabilityMarker.Verdict known) {
        return end(() -> {
            notice(
                    "deleting is not allowed",
                    "Granary publishes without it; the server is not probed again before the"
                            + " verdict in the store marker expires");
            String key = objects.sharedKey();
            require(objects.write(() -> store.put(key, BODY)), "an object is not written");
            rangeRead(key);
            listing(key);
            return known;
        });
    }

    private interface Steps {
        CapabilityMarker.Verdict run() throws InterruptedException, ProbeStepException;
    }

    private ProbeResult end(Steps steps) {
        StoreFailure failure;
        try {
            CapabilityMarker.Verdict verdict = steps.run();
            return new ProbeResult.Probed(verdict, serverMillis, List.copyOf(results));
        } catch (ProbeStepException e) {
            failure = e.failure();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            failure = StoreFailure.of(
                    StoreFailure.Kind.TIMEOUT, "interrupted while probing the bucket");
        } finally {
            // clients send no request for an interrupted thread
            boolean wasInterrupted = Thread.interrupted();
            objects.deleteAll();
            if (wasInterrupted) {
                Thread.currentThread().interrupt();
            }
        }
        return new ProbeResult.Stopped(failure, List.copyOf(results));
    }

    private ConditionalWriteSupport writes(String key)
            throws InterruptedException, ProbeStepException {
        try {
            twoCreates(key);
            createAfterDeletion(key);
            race("creates", () -> {
                String fresh = objects.key();
                return Optional.of(new ConditionalWriteRace.Course(
                        fresh, body -> store.putIfAbsent(fresh, body)));
            });
        } catch (ProbeStepException e) {
            String how = e.how();
            require(objects.write(() -> store.put(key, BODY)), "an object is not written");
            notice(
                    "create if absent is not honoured: " + how,
                    "two machines may do the same work; no packs, claims or leases in this"
                            + " bucket");
            return ConditionalWriteSupport.NONE;
        }
        try {
            replacements();
            return ConditionalWriteSupport.FULL;
        } catch (ProbeStepException e) {
            notice(
                    "replacing a version is not honoured: " + e.how(),
                    "damaged entries are overwritten instead; no packs, claims or leases in this"
                            + " bucket");
            return ConditionalWriteSupport.CREATE_ONLY;
        }
    }

    private void race(String what, ConditionalWriteRace.Setup setup)
            throws InterruptedException, ProbeStepException {
        new ConditionalWriteRace(store).run(setup);
        sound("exactly one of " + ConditionalWriteRace.RACERS + " concurrent " + what + " wins");
    }

    private void twoCreates(String key) throws InterruptedException, ProbeStepException {
        require(objects.create(key, BODY), "an absent object is not created");
        WriteResult second = objects.write(() -> store.putIfAbsent(key, OTHER));
        if (!(second instanceof WriteResult.PreconditionFailed
                || second instanceof WriteResult.Conflict)) {
            throw ProbeStepException.of(second, "a second create of one object succeeded");
        }
        sound("a second create of one object is refused");
    }

    /** Checks a create after a delete: some servers still see the deleted object. */
    private void createAfterDeletion(String key) throws InterruptedException, ProbeStepException {
        if (objects.delete(key) instanceof WriteResult.Done) {
            require(objects.create(key, BODY), "a deleted object is not created again");
            sound("a deleted object can be created again");
        } else {
            notice(
                    "deleting is not allowed",
                    "Granary publishes without it; the objects of the probe stay, and may be"
                            + " deleted");
        }
    }

    private void replacements() throws InterruptedException, ProbeStepException {
        String key = objects.key();
        if (!(objects.create(key, BODY) instanceof WriteResult.Done(String first))) {
            throw new ProbeStepException(StoreFailure.of(
                    StoreFailure.Kind.SERVER, "an object to replace could not be created"));
        }
        WriteResult current = store.replaceIfMatch(key, first, OTHER);
        if (current instanceof WriteResult.NotAllowed
                || current instanceof WriteResult.PreconditionFailed) {
            throw ProbeStepException.of(current, "the current version is not replaced");
        }
        String old = current instanceof WriteResult.Done ? first : NO_SUCH_VERSION;
        requireNotReplaced(key, old, "a stale version");
        requireNotReplaced(objects.key(), first, "an absent object");
        race("replacements", () -> {
            String fresh = objects.key();
            return objects.create(fresh, BODY) instanceof WriteResult.Done(String etag)
                    ? Optional.of(new ConditionalWriteRace.Course(
                            fresh, body -> store.replaceIfMatch(fresh, etag, body)))
                    : Optional.empty();
        });
    }

    private void requireNotReplaced(String key, String etag, String what)
            throws InterruptedException, ProbeStepException {
        WriteResult result = objects.write(() -> store.replaceIfMatch(key, etag, BODY));
        if (!(result instanceof WriteResult.PreconditionFailed)) {
            throw ProbeStepException.of(result, what + " was replaced");
        }
        sound(what + " is not replaced");
    }

    /** Reads a range of a new object, and the server's time. */
    private void rangeRead(String key) {
        byte[] expected = Arrays.copyOfRange(BODY, 2, 5);
        GetResult read = store.range(key, 2, 3);
        if (read instanceof GetResult.Absent) {
            notice("a new object is reported as absent", "lookups may miss new entries");
            return;
        }
        if (read instanceof GetResult.Found found) {
            serverMillis = found.dates().nowMillis();
            if (Arrays.equals(expected, found.bytes().toArray(ValueLayout.JAVA_BYTE))) {
                sound("a range of an object can be read");
                return;
            }
        }
        notice(
                "a range of an object cannot be read",
                "entries in packs cannot be read; look for a proxy that changes the Range"
                        + " header");
    }

    private void listing(String key) {
        List<String> seen = new ArrayList<>();
        switch (store.list(key, object -> seen.add(object.key()))) {
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

    /** Returns true if the server spares a stale version; without an answer it is not known to. */
    private boolean honoursConditionalDelete(String key) {
        WriteResult result = store.deleteIfMatch(key, NO_SUCH_VERSION);
        boolean isHonoured = result instanceof WriteResult.PreconditionFailed
                || result instanceof WriteResult.Conflict;
        if (isHonoured) {
            sound("conditional deletion is honoured: a stale version is not deleted");
        } else if (result instanceof WriteResult.Done) {
            notHonoured("a stale version is deleted");
        } else if (result instanceof WriteResult.NotAllowed refused
                && refused.failure().kind() == NOT_SUPPORTED) {
            notHonoured("it is refused");
        }
        return isHonoured;
    }

    private void notHonoured(String how) {
        notice(
                "conditional deletion is not honoured: " + how,
                "publication does not need it; clean-up reads an object before it deletes it");
    }

    private static void require(WriteResult result, String otherwise) throws ProbeStepException {
        if (!(result instanceof WriteResult.Done)) {
            throw ProbeStepException.of(result, otherwise);
        }
    }

    private void sound(String finding) {
        results.add(new CheckResult.Sound(finding));
    }

    /** Adds a result that disables something; of no step if it is called before the first. */
    void notice(String finding, String advice) {
        results.add(new CheckResult.Notice(finding, advice));
    }
}
