package dev.granary.s3.probe;

import dev.granary.cache.support.CheckResult;
import dev.granary.s3.config.S3Access;
import dev.granary.s3.config.S3Config;
import dev.granary.s3.layout.BucketLayout;
import dev.granary.s3.store.GetResult;
import dev.granary.s3.store.ListResult;
import dev.granary.s3.store.ObjectStore;
import dev.granary.s3.store.ServerTimestamps;
import dev.granary.s3.store.StoreFailure;
import dev.granary.s3.store.WriteResult;

import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.SplittableRandom;
import java.util.random.RandomGenerator;

/**
 * Diagnoses a bucket for users: access for reading, writing and listing, and the capabilities of
 * the server.
 */
public final class BucketDiagnostics {
    private static final int LIMIT = 100;

    private static final int LARGE = 1 << 20;

    /** The largest difference of two sound clocks, as AWS's signatures accept it, in ms. */
    private static final long MAX_CLOCK_DIFFERENCE = 15 * 60_000;

    private final S3Config config;
    private final ObjectStore store;
    private final ServerCapabilities capabilities;
    private final FailureAdvice advice;
    private final BucketLayout layout;
    private final String absentKey;
    private final List<CheckResult> results = new ArrayList<>();

    public BucketDiagnostics(
            S3Config config,
            ObjectStore store,
            BucketLayout layout,
            ServerCapabilities capabilities,
            RandomGenerator random) {
        this.config = config;
        this.store = store;
        this.capabilities = capabilities;
        this.advice = new FailureAdvice(config);
        this.layout = layout;
        this.absentKey = layout.probeObject(BucketLayout.randomName(random));
    }

    /**
     * Checks the bucket with about 90 small requests, most of them writes. A bucket that is
     * configured read-only receives at most two reads, and a write that cannot succeed.
     *
     * @return the results in the order of the steps
     */
    public List<CheckResult> run() {
        checkHost();
        switch (store.get(absentKey, LIMIT)) {
            case GetResult.Absent _
            when config.access() != S3Access.READ_WRITE -> {
                reportAccess("reading");
                checkExcessRights();
            }
            case GetResult.Absent _ -> probe(Optional.empty());
            case GetResult.Found _, GetResult.TooLarge _ ->
                results.add(advice.notS3("it returns an object for a key that was never used"));
            case GetResult.Unavailable lost
            when !lost.failure().code().equals("AccessDenied") ->
                results.add(advice.of(lost.failure()));
            case GetResult.Unavailable lost
            when config.access() != S3Access.READ_WRITE ->
                results.add(forbiddenAbsence(lost.failure()));
            case GetResult.Unavailable lost -> probe(Optional.of(lost.failure()));
        }
        return List.copyOf(results);
    }

    /**
     * Sends the cheapest request that needs server, credentials and bucket.
     *
     * @return the problem; empty if this request found none
     */
    public Optional<CheckResult.Problem> reach() {
        return switch (store.get(absentKey, LIMIT)) {
            case GetResult.Absent _ -> Optional.empty();
            case GetResult.Found _, GetResult.TooLarge _ ->
                Optional.of(advice.notS3("it returns an object for a key that was never used"));
            // Amazon reports an absent object like this if the permission to list is missing.
            case GetResult.Unavailable lost
            when lost.failure().code().equals("AccessDenied") -> Optional.empty();
            case GetResult.Unavailable lost -> Optional.of(advice.of(lost.failure()));
        };
    }

    private void checkHost() {
        boolean isInHost = config.connection()
                .endpoint()
                .filter(endpoint -> String.valueOf(endpoint.getHost())
                        .startsWith(config.location().bucket() + "."))
                .isPresent();
        if (isInHost) {
            results.add(new CheckResult.Notice(
                    "the host of the endpoint " + advice.server()
                            + " begins with the name of the bucket",
                    "granary puts the bucket in the path: leave it out of the endpoint"));
        }
    }

    /**
     * Probes the server.
     *
     * @param unreadable the failure of reading an absent object, which a missing permission to list
     *     explains as well
     */
    private void probe(Optional<StoreFailure> unreadable) {
        ProbeResult result = capabilities.probeNow();
        switch (result) {
            case ProbeResult.Probed probed -> {
                reportAccess(unreadable.isPresent() ? "writing" : "reading and writing");
                if (unreadable.isPresent()) {
                    results.add(forbiddenAbsence(unreadable.get()));
                }
                results.addAll(probed.results());
                checkLargeObject();
                results.add(result(probed.verdict().writes()));
            }
            case ProbeResult.Stopped(StoreFailure failure, List<CheckResult> before) -> {
                boolean isSilent = failure.isTransient() || failure.isUnsent();
                if (isSilent) {
                    results.addAll(before);
                    results.add(advice.of(failure));
                } else if (unreadable.isPresent()) {
                    results.add(advice.of(unreadable.get()));
                } else if (failure.code().equals("AccessDenied")) {
                    checkReadOnly(failure);
                } else {
                    results.add(advice.of(failure));
                }
            }
        }
    }

    /**
     * Writes and reads an object as large as a small pack, and compares the server's two clocks.
     */
    private void checkLargeObject() {
        // the same object each time: without the right to delete, one stays
        byte[] body = new byte[LARGE];
        new SplittableRandom(LARGE).nextBytes(body);
        String key = layout.probeObject("large");
        WriteResult written = store.put(key, body);
        GetResult read = store.get(key, LARGE);
        WriteResult ignored = store.delete(key);
        if (!(written instanceof WriteResult.Done)) {
            results.add(new CheckResult.Notice(
                    "an object of 1 MiB is refused ("
                            + WriteResult.failureOf(written)
                                    .map(StoreFailure::toString)
                                    .orElse("conflict")
                            + ")",
                    "raise the largest body that the server, or a proxy before it, accepts"));
        } else if (read instanceof GetResult.Found found
                && MemorySegment.ofArray(body).mismatch(found.bytes()) < 0) {
            results.add(new CheckResult.Sound("an object of 1 MiB is returned unchanged"));
            checkClocks(found.dates());
        } else {
            results.add(new CheckResult.Notice(
                    "an object of 1 MiB is not returned as it was written",
                    "look for a proxy that changes or cuts off bodies"));
        }
    }

    private void checkClocks(ServerTimestamps dates) {
        boolean isApart = dates.lastModifiedMillis() > 0
                && dates.nowMillis() > 0
                && Math.abs(dates.nowMillis() - dates.lastModifiedMillis()) > MAX_CLOCK_DIFFERENCE;
        if (isApart) {
            results.add(new CheckResult.Notice(
                    "the server has two clocks: the Date of its responses and the Last-Modified of"
                            + " a new object differ by more than 15 minutes",
                    "set the clocks of the server and of its proxies; compact removes objects too"
                            + " late or too early by that difference"));
        }
    }

    /**
     * Tells whether a reader may also write, if the server is known to refuse the replacement of an
     * absent object. It checks the permission first.
     */
    private void checkExcessRights() {
        if (capabilities.areReplacementsExact()
                && store.replaceIfMatch(absentKey, CapabilityProbe.NO_SUCH_VERSION, new byte[1])
                        instanceof WriteResult.PreconditionFailed) {
            results.add(new CheckResult.Notice(
                    "these credentials may also write",
                    "give readers the reader policy: granary doctor " + config.location()
                            + " --policy reader"));
        }
    }

    private CheckResult.Problem forbiddenAbsence(StoreFailure failure) {
        return new CheckResult.Problem(
                "an absent object is reported as forbidden (" + failure + ")",
                "allow s3:ListBucket on " + config.location().bucket()
                        + ", and s3:GetObject below it: a miss is an error otherwise");
    }

    private void reportAccess(String allowed) {
        results.add(new CheckResult.Sound(
                config.location() + " answers, and " + allowed + " is allowed"));
    }

    private void checkReadOnly(StoreFailure refusal) {
        reportAccess("reading");
        results.add(new CheckResult.Notice(
                "writing is not allowed (" + refusal + ")",
                "this is expected on a machine that only reads; to publish from here,"
                        + " allow s3:PutObject"));
        switch (store.list(absentKey, object -> {})) {
            case ListResult.Complete _ -> results.add(new CheckResult.Sound("listing is allowed"));
            case ListResult.Unavailable lost ->
                results.add(new CheckResult.Notice(
                        "listing does not work (" + lost.failure() + ")",
                        "lookups do not need it; granary ls of a bucket needs s3:ListBucket"));
        }
    }

    private static CheckResult result(ConditionalWriteSupport writes) {
        return switch (writes) {
            case FULL -> new CheckResult.Sound("conditional writes: FULL");
            case CREATE_ONLY ->
                new CheckResult.Notice(
                        "conditional writes: CREATE_ONLY",
                        "entries are shared; packs, which need If-Match, are not written");
            case NONE ->
                new CheckResult.Notice(
                        "conditional writes: NONE",
                        "entries are shared; packs are not written. Amazon S3, MinIO and Ceph"
                                + " support them");
        };
    }
}
