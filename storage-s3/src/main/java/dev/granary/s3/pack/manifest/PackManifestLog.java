package dev.granary.s3.pack.manifest;

import dev.granary.s3.layout.TargetLayout;
import dev.granary.s3.store.ObjectStore;

import java.time.Duration;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.random.RandomGenerator;

/**
 * The manifests of one target in a bucket: reads the newest, commits the next. Thread-safe.
 *
 * <p>Manifests are numbered without gaps, complete, and never changed. Creating the next number is
 * the commit; of several writers one succeeds, and the others plan again on top of it. The hint
 * names a recent manifest. It is created before the first manifest, so that a bucket without a hint
 * has no manifests. Otherwise it is only a place to start searching from.
 *
 * <p>The first number is derived from the time at which the hint was created. Numbers are thus
 * never reused, even if all objects were removed. A writer that was suspended meanwhile may still
 * create the manifest after the one that it knew. Readers do not find that manifest, and the writer
 * detects this before it reports success.
 *
 * <p>A commit builds only on a {@linkplain PackManifestChain#confirmed confirmed} manifest. Its own
 * manifest is recognised by its bytes, since metadata may be stripped. An ambiguous write stays
 * ambiguous until the bucket shows that manifest or another one.
 */
public final class PackManifestLog {
    private final ObjectStore store;
    private final TargetLayout keys;
    private final PackManifestChain chain;
    private final ManifestHintWriter hints;
    private final RandomGenerator random;
    private final Consumer<Duration> pause;

    /**
     * Creates a log of the manifests under {@code keys}.
     *
     * @param pause waits for a duration before a retry
     */
    public PackManifestLog(
            ObjectStore store,
            TargetLayout keys,
            RandomGenerator random,
            Consumer<Duration> pause) {
        this.store = store;
        this.keys = keys;
        this.chain = new PackManifestChain(store, keys, pause);
        this.hints = new ManifestHintWriter(store, keys, chain, pause);
        this.random = random;
        this.pause = pause;
    }

    /** The outcome of reading the newest manifest. */
    public sealed interface Newest {
        /**
         * The newest manifest.
         *
         * @param manifest the manifest; {@link PackManifest#NONE} if there is none
         */
        record Found(PackManifest manifest) implements Newest {}

        /**
         * The newest manifest cannot be determined.
         *
         * @param cause the cause, for people
         */
        record Unavailable(String cause) implements Newest {}
    }

    /**
     * The outcome of a commit.
     *
     * @param <F> the type of the finding of its plans
     */
    public sealed interface Committed<F> {
        /**
         * The plan was committed.
         *
         * @param manifest the newest manifest, created by this commit
         * @param finding the finding of the plan of that manifest
         */
        record Done<F>(PackManifest manifest, F finding) implements Committed<F> {}

        /**
         * The planner had nothing to change in the newest manifest, and no manifest of this commit
         * exists or may come to exist.
         *
         * @param finding the finding of the last plan
         */
        record Overtaken<F>(F finding) implements Committed<F> {}

        /**
         * The plan was not and will not be committed. A later attempt may succeed, unless it was
         * refused.
         *
         * @param cause the cause, for people
         */
        record Failed<F>(String cause) implements Committed<F> {}

        /**
         * The plan may be committed, now or later: a write was ambiguous, or a manifest of this
         * commit exists and readers do not reach it.
         *
         * @param cause the cause, for people
         */
        record Unknown<F>(String cause) implements Committed<F> {}
    }

    /** Returns the newest manifest; {@code known} is one that was read before. */
    public Newest newest(PackManifest known) {
        try {
            return new Newest.Found(chain.newest(known));
        } catch (UnknownStateException e) {
            return new Newest.Unavailable(e.failure().toString());
        }
    }

    /**
     * Returns true if new readers reach {@code known}.
     *
     * @throws UnknownStateException if the bucket does not report it
     */
    public boolean isNewest(PackManifest known) throws UnknownStateException {
        return chain.isNewest(known);
    }

    /**
     * Makes the hint name {@code newest}, which was just confirmed, as far as possible. Sends one
     * request if it does already.
     *
     * @return false if lookups do not reach {@code newest}, or the bucket does not report it
     */
    public boolean repairHint(PackManifest newest) {
        try {
            return newest.number() == 0
                    || chain.hint()
                            .filter(hint -> hint.number() == newest.number())
                            .isPresent()
                    || hints.advance(newest, ManifestHintWriter.Origin.EARLIER)
                            == ManifestHintWriter.Reachability.REACHED;
        } catch (UnknownStateException e) {
            return false;
        }
    }

    /**
     * Returns the newest manifest for a writer: a wrong response is a failure, and never yields an
     * older manifest.
     */
    public Newest confirmed() {
        return confirmed(DamagePolicy.SKIP);
    }

    /**
     * Returns the newest manifest for a remover: confirmed, undamaged in the bucket, and reached by
     * lookups.
     */
    public Newest confirmedWhole() {
        return confirmed(DamagePolicy.FAIL);
    }

    /** The handling of a newest manifest that is damaged in the bucket. */
    private enum DamagePolicy {
        SKIP,
        FAIL
    }

    private Newest confirmed(DamagePolicy policy) {
        try {
            Optional<ManifestHint> hint = chain.hint();
            ManifestReader.Confirmed newest =
                    chain.confirmed(PackManifest.NONE, hint.orElse(ManifestHint.UNKNOWN));
            long number = newest.manifest().number();
            if (policy == DamagePolicy.SKIP) {
                return new Newest.Found(newest.manifest());
            }
            if (number > 0 && (hint.isEmpty() || !chain.leadsTo(number, hint.get()))) {
                return new Newest.Unavailable("the hint does not lead to manifest " + number);
            }
            return newest.isWhole()
                    ? new Newest.Found(newest.manifest())
                    : new Newest.Unavailable("manifest " + number + " is damaged");
        } catch (UnknownStateException e) {
            return new Newest.Unavailable(e.failure().toString());
        }
    }

    /**
     * Commits the plan for the newest manifest. The plan is made again whenever another writer was
     * faster.
     *
     * @param planner returns the plan for a manifest
     */
    public <F> Committed<F> commit(Function<PackManifest, ManifestPlan<F>> planner) {
        return new ManifestCommitter<>(store, keys, random, pause, planner).commit();
    }
}
