package dev.granary.s3.pack.manifest;

import dev.granary.s3.layout.TargetLayout;
import dev.granary.s3.pack.manifest.PackManifestLog.Committed;
import dev.granary.s3.store.ObjectStore;

import org.jspecify.annotations.Nullable;

import java.time.Duration;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.random.RandomGenerator;

/**
 * Executor of one commit of a manifest. For one thread and one use.
 *
 * @param <F> the type of the finding of its plans
 */
final class ManifestCommitter<F> {
    private static final int MAX_ATTEMPTS = 20;
    private static final int LONGEST_PAUSE_SHIFT = 5;
    private static final String HINT_UNREADABLE =
            "it is unknown whether readers reach the newest manifest: the hint cannot be read";
    private static final String UNREACHABLE =
            "a manifest was written that readers do not reach now";
    private static final Duration FIRST_PAUSE = Duration.ofMillis(50);

    private final PackManifestChain chain;
    private final ManifestCreator creator;
    private final ManifestHintWriter hints;
    private final RandomGenerator random;
    private final Consumer<Duration> pause;
    private final Function<PackManifest, ManifestPlan<F>> planner;
    private ManifestHint hint = ManifestHint.UNKNOWN;
    private PackManifest base = PackManifest.NONE;
    private ManifestPlan.@Nullable Commit<F> pending; // sent, with unknown outcome
    // a sent manifest exists, or may come to exist, and readers do not reach it
    private boolean hasUnreachable;
    private String pendingCause = "";

    /**
     * Creates the executor of one commit.
     *
     * @param planner called again whenever another writer was faster
     * @param pause waits for a duration before a retry
     */
    ManifestCommitter(
            ObjectStore store,
            TargetLayout keys,
            RandomGenerator random,
            Consumer<Duration> pause,
            Function<PackManifest, ManifestPlan<F>> planner) {
        this.chain = new PackManifestChain(store, keys, pause);
        this.creator = new ManifestCreator(store, keys, chain, random, pause);
        this.hints = new ManifestHintWriter(store, keys, chain, pause);
        this.random = random;
        this.pause = pause;
        this.planner = planner;
    }

    Committed<F> commit() {
        try {
            hint = hints.created();
            for (int attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
                Optional<Committed<F>> end = attempt(attempt);
                if (end.isPresent()) {
                    return end.get();
                }
            }
            return failed(
                    pending == null
                            ? "other writers were faster " + MAX_ATTEMPTS + " times"
                            : pendingCause);
        } catch (UnknownStateException e) {
            return e.mayHaveLanded()
                    ? new Committed.Unknown<>(e.failure().toString())
                    : failed(e.failure().toString());
        }
    }

    /** Plans, and creates the planned manifest; returns empty if the plan must be made again. */
    private Optional<Committed<F>> attempt(int attempt) throws UnknownStateException {
        base = chain.confirmed(base, hint).manifest();
        Optional<ManifestPlan.Commit<F>> landed = landed();
        if (landed.isPresent()) {
            return settle(landed.get(), ManifestHintWriter.Origin.EARLIER);
        }
        boolean isDetached = isDetached();
        return switch (planner.apply(isDetached ? detachedBase(base, hint) : base)) {
            case ManifestPlan.Nothing<F> _
            when isDetached && base.unpackedEntries() == PackManifest.UnpackedEntries.NONE ->
                unsealed();
            case ManifestPlan.Nothing<F>(F finding) -> nothingPlanned(finding);
            case ManifestPlan.Commit<F> next
            when !next.manifest().isReadable() ->
                Optional.of(failed("the packs of this target would have more than "
                        + PackManifest.MAX_ENTRIES + " entries, or their manifest more than "
                        + PackManifest.MAX_BYTES
                        + " bytes: compact them, or remove what is not needed"));
            case ManifestPlan.Commit<F> next -> createOrPause(next, isDetached, attempt);
        };
    }

    private Optional<Committed<F>> createOrPause(
            ManifestPlan.Commit<F> next, boolean isDetached, int attempt)
            throws UnknownStateException {
        Optional<Committed<F>> end = created(next, isDetached);
        if (end.isEmpty()) {
            pause.accept(Duration.ofNanos(1
                    + random.nextLong(
                            FIRST_PAUSE.toNanos() << Math.min(attempt, LONGEST_PAUSE_SHIFT))));
        }
        return end;
    }

    /**
     * Returns the pending manifest if it proves to be committed. If its number is taken by another,
     * it is no longer pending.
     */
    private Optional<ManifestPlan.Commit<F>> landed() throws UnknownStateException {
        if (pending == null || base.number() < pending.manifest().number()) {
            return Optional.empty();
        }
        ManifestPlan.Commit<F> sent = pending;
        pending = null;
        return switch (creator.outcome(sent.manifest(), base)) {
            case COMMITTED -> Optional.of(sent);
            case FOREIGN -> Optional.empty();
            case UNREACHABLE -> {
                hasUnreachable = true;
                yield Optional.empty();
            }
        };
    }

    /**
     * Returns true if the hint does not lead to the newest manifest, or was created anew after that
     * one was sealed.
     */
    private boolean isDetached() throws UnknownStateException {
        boolean isHintRecreated =
                hint.number() == 0 && base.unpackedEntries() == PackManifest.UnpackedEntries.NONE;
        return base.number() == 0 || isHintRecreated || !chain.leadsTo(base.number(), hint);
    }

    /**
     * Removes the seal from a manifest that only a listing leads to, before a process relies on it.
     */
    private Optional<Committed<F>> unsealed() throws UnknownStateException {
        PackManifest unsealed =
                detachedBase(base, hint).with(PackManifest.UnpackedEntries.POSSIBLE);
        if (creator.create(unsealed) instanceof ManifestCreator.Creation.Own) {
            hints.advance(unsealed, ManifestHintWriter.Origin.JUST_CREATED);
        }
        restart();
        return Optional.empty();
    }

    /**
     * Ends a commit with nothing to change. The caller relies on the newest manifest, so readers
     * must reach it.
     */
    private Optional<Committed<F>> nothingPlanned(F finding) throws UnknownStateException {
        if (mayExist()) { // a sent manifest may overtake the newest one
            return Optional.of(
                    new Committed.Unknown<>(pending == null ? UNREACHABLE : pendingCause));
        }
        if (hint.number() == base.number() || base.number() == 0) {
            return Optional.of(new Committed.Overtaken<>(finding));
        }
        return switch (hints.advance(base, ManifestHintWriter.Origin.EARLIER)) {
            case REACHED -> Optional.of(new Committed.Overtaken<>(finding));
            case UNKNOWN -> Optional.of(new Committed.Failed<>(HINT_UNREADABLE));
            case NOT_REACHED -> {
                restart();
                yield Optional.empty();
            }
        };
    }

    private Optional<Committed<F>> created(ManifestPlan.Commit<F> next, boolean isDetached)
            throws UnknownStateException {
        switch (creator.create(next.manifest())) {
            case ManifestCreator.Creation.Own _ -> {
                return settle(next, ManifestHintWriter.Origin.JUST_CREATED);
            }
            case ManifestCreator.Creation.Foreign _ -> {
                pendingCause = "";
                // search again: numbers in between may be missing
                base = isDetached ? PackManifest.NONE : base;
            }
            case ManifestCreator.Creation.Undecided(String cause) -> {
                // each number has one manifest
                hasUnreachable |= pending != null
                        && pending.manifest().number() != next.manifest().number();
                pending = next;
                pendingCause = cause;
            }
        }
        return Optional.empty();
    }

    /** Ends a commit whose manifest exists: readers reach it, or the plan is made again. */
    private Optional<Committed<F>> settle(
            ManifestPlan.Commit<F> own, ManifestHintWriter.Origin origin)
            throws UnknownStateException {
        hasUnreachable = true; // until readers are known to reach it
        return switch (hints.advance(own.manifest(), origin)) {
            case REACHED -> Optional.of(new Committed.Done<>(own.manifest(), own.finding()));
            case UNKNOWN -> Optional.of(new Committed.Unknown<>(HINT_UNREADABLE));
            // manifests were removed: the chain was restarted meanwhile, or has a gap
            case NOT_REACHED -> {
                restart();
                yield Optional.empty();
            }
        };
    }

    private void restart() throws UnknownStateException {
        hint = hints.created();
        base = PackManifest.NONE;
    }

    /** Returns true if a manifest that this commit sent exists, or may come to exist. */
    private boolean mayExist() {
        return pending != null || hasUnreachable;
    }

    private Committed<F> failed(String cause) {
        return mayExist() ? new Committed.Unknown<>(cause) : new Committed.Failed<>(cause);
    }

    /**
     * Returns the base of a plan if the hint does not lead to a manifest: the one that a listing
     * leads to, or none. It gets the number that the hint names, if that is larger, since numbers
     * are not reused. Unpacked entries are possible whatever the manifest says, since lookups did
     * not reach it.
     */
    private static PackManifest detachedBase(PackManifest base, ManifestHint hint) {
        long number =
                base.number() == 0 ? hint.first() - 1 : Math.max(base.number(), hint.number());
        return new PackManifest(
                number, PackManifest.UnpackedEntries.POSSIBLE, base.packs(), base.retired());
    }
}
