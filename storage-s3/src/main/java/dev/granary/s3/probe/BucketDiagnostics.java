package dev.granary.s3.probe;

import dev.granary.cache.format.WriteAttemptId;
import dev.granary.s3.config.S3Access;
import dev.granary.s3.config.S3Config;
import dev.granary.s3.layout.BucketLayout;
import dev.granary.s3.store.GetResult;
import dev.granary.s3.store.ListResult;
import dev.granary.s3.store.ObjectStore;
import dev.granary.s3.store.StoreFailure;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.random.RandomGenerator;

/**
 * Diagnoses a bucket for users: access for reading, writing and listing, and the capabilities of
 * the server.
 */
public final class BucketDiagnostics {
    private static final int LIMIT = 100;

    private final S3Config config;
    private final ObjectStore store;
    private final CachedCapabilities capabilities;
    private final FailureAdvice diagnosis;
    private final String unused;
    private final List<BucketFinding> findings = new ArrayList<>();

    public BucketDiagnostics(S3Config config, ObjectStore store, BucketLayout layout, CachedCapabilities capabilities, RandomGenerator random) {
        this.config = config;
        this.store = store;
        this.capabilities = capabilities;
        this.diagnosis = new FailureAdvice(config);
        this.unused = layout.trial(WriteAttemptId.random(random).hex());
    }

    public List<BucketFinding> run() {
        bucketInHost();
        switch (store.get(unused, LIMIT)) {
            case GetResult.Absent _ when config.access() != S3Access.READ_WRITE -> answers("reading");
            case GetResult.Absent _ -> tryOut(Optional.empty());
            case GetResult.Found _, GetResult.TooLarge _ ->
                findings.add(diagnosis.notS3("it has something under a name that was never used"));
            case GetResult.Unavailable lost when lost.failure().code().equals("AccessDenied") -> tryOut(Optional.of(lost.failure()));
            case GetResult.Unavailable lost -> findings.add(diagnosis.of(lost.failure()));
        }
        return List.copyOf(findings);
    }

    /**
     * Sends the cheapest request that needs server, credentials and bucket.
     *
     * @return the problem; empty if this request found none
     */
    public Optional<BucketFinding.Problem> reach() {
        return switch (store.get(unused, LIMIT)) {
            case GetResult.Absent _ -> Optional.empty();
            case GetResult.Found _, GetResult.TooLarge _ -> Optional.of(diagnosis.notS3("it has something under a name that was never used"));
            // Amazon reports an absent object like this if the permission to list is missing.
            case GetResult.Unavailable lost when lost.failure().code().equals("AccessDenied") -> Optional.empty();
            case GetResult.Unavailable lost -> Optional.of(diagnosis.of(lost.failure()));
        };
    }

    private void bucketInHost() {
        boolean isInHost = config.connection().endpoint()
                .filter(endpoint -> String.valueOf(endpoint.getHost()).startsWith(config.location().bucket() + ".")).isPresent();
        if (isInHost) {
            findings.add(new BucketFinding.Notice("the host of the endpoint " + diagnosis.server() + " begins with the name of the bucket",
                    "granary puts the bucket in the path: leave it out of the endpoint"));
        }
    }

    /**
     * Probes the server.
     *
     * @param unreadable the failure of reading an absent object, which a missing permission to
     *     list explains as well
     */
    private void tryOut(Optional<StoreFailure> unreadable) {
        ProbeResult result = capabilities.probeNow();
        switch (result) {
            case ProbeResult.Probed probed -> {
                answers(unreadable.isPresent() ? "writing" : "reading and writing");
                if (unreadable.isPresent()) {
                    findings.add(new BucketFinding.Problem("an object that is absent is called forbidden (" + unreadable.get() + ")",
                            "allow s3:ListBucket on " + config.location().bucket() + ", and s3:GetObject below it: a miss is an error otherwise"));
                }
                findings.addAll(probed.findings());
                findings.add(verdict(probed.writes()));
            }
            case ProbeResult.NotAllowed refused when unreadable.isPresent() -> findings.add(diagnosis.of(unreadable.get()));
            case ProbeResult.NotAllowed refused when refused.failure().code().equals("AccessDenied") -> onlyReads(refused.failure());
            case ProbeResult.NotAllowed refused -> findings.add(diagnosis.of(refused.failure()));
            case ProbeResult.Unavailable lost -> {
                findings.addAll(lost.findings());
                findings.add(diagnosis.of(lost.failure()));
            }
        }
    }

    private void answers(String allowed) {
        findings.add(new BucketFinding.Sound(config.location() + " answers, and " + allowed + " is allowed"));
    }

    private void onlyReads(StoreFailure refusal) {
        answers("reading");
        findings.add(new BucketFinding.Notice("writing is not allowed (" + refusal + ")",
                "this is as it should be on a machine that only reads; to publish from here, allow s3:PutObject"));
        switch (store.list(unused, object -> {})) {
            case ListResult.Complete _ -> findings.add(new BucketFinding.Sound("listing is allowed"));
            case ListResult.Unavailable lost -> findings.add(new BucketFinding.Notice("listing does not work (" + lost.failure() + ")",
                    "look-ups do without; granary ls --tier bucket needs s3:ListBucket"));
        }
    }

    private static BucketFinding verdict(ConditionalWriteSupport writes) {
        return switch (writes) {
            case FULL -> new BucketFinding.Sound("conditional writes: FULL");
            case CREATE_ONLY -> new BucketFinding.Notice("conditional writes: CREATE_ONLY", "entries and packs are shared; what needs If-Match is off");
            case NONE -> new BucketFinding.Notice("conditional writes: NONE", "entries are shared; all else is off. Amazon S3, MinIO and Ceph do better");
        };
    }
}
