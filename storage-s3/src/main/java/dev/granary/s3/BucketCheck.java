package dev.granary.s3;

import dev.granary.cache.format.PutId;
import dev.granary.s3.store.Failure;
import dev.granary.s3.store.GetResult;
import dev.granary.s3.store.Marks;
import dev.granary.s3.store.ObjectStore;
import dev.granary.s3.store.WriteResult;
import java.util.ArrayList;
import java.util.List;
import java.util.random.RandomGenerator;

/** Tries a bucket out: read, create, create again, delete. */
final class BucketCheck {
    private static final byte[] BODY = {'g', 'r', 'a', 'n', 'a', 'r', 'y'};

    private final S3Config config;
    private final ObjectStore store;
    private final String key;
    private final String putId;

    BucketCheck(S3Config config, ObjectStore store, BucketLayout layout, RandomGenerator random) {
        this.config = config;
        this.store = store;
        this.putId = PutId.random(random).hex();
        this.key = layout.trial(putId);
    }

    List<Finding> run() {
        List<Finding> findings = new ArrayList<>();
        if (read(findings) && config.access() == S3Access.READ_WRITE && create(findings)) {
            createAgain(findings);
            delete(findings);
        }
        return findings;
    }

    private boolean read(List<Finding> findings) {
        return switch (store.get(key, BODY.length)) {
            case GetResult.Absent _ -> findings.add(new Finding.Sound(config.location() + " answers, and reading is allowed"));
            case GetResult.Found _, GetResult.TooLarge _ -> {
                findings.add(new Finding.Problem("at " + server() + " there is something under a name that was never used",
                        "check that the endpoint is an S3 server, not a web page or a proxy that asks to sign in"));
                yield false;
            }
            case GetResult.Unavailable lost when lost.failure().kind() == Failure.Kind.DENIED -> {
                findings.add(new Finding.Problem(config.location() + " refuses to be read (" + lost.failure() + ")",
                        "check the credentials; they need s3:GetObject, and s3:ListBucket, without which an absent object looks forbidden"));
                yield false;
            }
            case GetResult.Unavailable lost -> {
                findings.add(problem(lost.failure()));
                yield false;
            }
        };
    }

    private boolean create(List<Finding> findings) {
        return switch (store.putIfAbsent(key, BODY, new Marks(putId, ""))) {
            case WriteResult.Done _ -> findings.add(new Finding.Sound("writing is allowed"));
            case WriteResult.PreconditionFailed _, WriteResult.Conflict _ -> {
                findings.add(new Finding.Problem(config.location() + " refuses to create an object that is not there",
                        "Granary needs a server with If-None-Match on PUT: Amazon S3, MinIO, Ceph 16 or later"));
                yield false;
            }
            case WriteResult.NotAllowed refused when refused.failure().kind() == Failure.Kind.DENIED -> {
                findings.add(new Finding.Problem(config.location() + " refuses to be written (" + refused.failure() + ")",
                        "if this machine shall publish, allow s3:PutObject; if it shall only read, this is as it should be"));
                yield false;
            }
            case WriteResult.NotAllowed refused -> {
                findings.add(problem(refused.failure()));
                yield false;
            }
            case WriteResult.NotSent unsent -> {
                findings.add(problem(unsent.failure()));
                yield false;
            }
            case WriteResult.Unknown lost -> {
                findings.add(problem(lost.failure()));
                yield false;
            }
        };
    }

    private void createAgain(List<Finding> findings) {
        switch (store.putIfAbsent(key, BODY, new Marks(putId, ""))) {
            case WriteResult.PreconditionFailed _, WriteResult.Conflict _ -> findings.add(new Finding.Sound("conditional writes hold"));
            case WriteResult.Done _ -> findings.add(new Finding.Problem(
                    config.location() + " ignores If-None-Match: a second create of one object succeeded",
                    "entries verify themselves and stay right, but work may be done twice; use a server with conditional writes"));
            case WriteResult.NotAllowed refused -> findings.add(problem(refused.failure()));
            case WriteResult.NotSent unsent -> findings.add(problem(unsent.failure()));
            case WriteResult.Unknown lost -> findings.add(problem(lost.failure()));
        }
    }

    private void delete(List<Finding> findings) {
        if (store.delete(key) instanceof WriteResult.NotAllowed refused) {
            findings.add(new Finding.Sound("deletion is not allowed (" + refused.failure().code() + "); Granary publishes without it"));
        }
    }

    private String server() {
        return config.connection().endpoint().map(Object::toString).orElse("Amazon S3");
    }

    private Finding problem(Failure failure) {
        String bucket = config.location().bucket();
        String server = server();
        return switch (failure.kind()) {
            case NO_BUCKET -> new Finding.Problem("there is no bucket " + bucket + " at " + server,
                    "create it, or correct the name: granary creates no buckets");
            case DENIED -> new Finding.Problem("access denied (" + failure + ")",
                    "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or a profile, of an account that may use " + bucket);
            case CLOCK_SKEW -> new Finding.Problem("this machine's clock differs too much from the server's",
                    "set the clock, for example by turning on NTP: timedatectl set-ntp true");
            case WRONG_REGION -> new Finding.Problem("bucket " + bucket + " is in another region (" + failure + ")",
                    "set AWS_REGION or the region in the configuration to the bucket's own");
            case UNREACHABLE -> new Finding.Problem("nobody answers at " + server + " (" + failure + ")",
                    "check the endpoint's host and port, and that this machine may connect to it");
            case TIMEOUT, BROKEN -> new Finding.Problem(server + " does not answer properly (" + failure + ")",
                    "check that the endpoint is an S3 server, whether it wants http or https, and the network between");
            case NOT_SUPPORTED -> new Finding.Problem("the server does not support what Granary needs (" + failure + ")",
                    "use a server with If-None-Match on PUT: Amazon S3, MinIO, Ceph 16 or later");
            case THROTTLED, SERVER -> new Finding.Problem("the server fails (" + failure + ")", "look at the server's own log");
            case BUSY, SUSPENDED -> new Finding.Problem("the bucket is left alone after failures (" + failure + ")", "try again in a minute");
            case CONFIGURATION -> new Finding.Problem("the client could not be set up: " + failure.message(),
                    "change what the message names");
        };
    }
}
