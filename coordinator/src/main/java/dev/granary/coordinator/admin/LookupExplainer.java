package dev.granary.coordinator.admin;

import dev.granary.cache.Entry;
import dev.granary.cache.EntryCatalog;
import dev.granary.cache.Id;
import dev.granary.cache.LoadResult;
import dev.granary.cache.Target;
import dev.granary.cache.constant.EngineKind;
import dev.granary.coordinator.admin.LookupExplanation.ClaimAnswer;
import dev.granary.coordinator.admin.LookupExplanation.ClaimState;
import dev.granary.coordinator.admin.LookupExplanation.Outcome;
import dev.granary.coordinator.admin.LookupExplanation.Result;
import dev.granary.coordinator.admin.LookupExplanation.TierAnswer;
import dev.granary.coordinator.claim.ClaimCoordinator;
import dev.granary.coordinator.config.BucketConfig;
import dev.granary.coordinator.config.ConfigException;
import dev.granary.coordinator.config.EnabledEngines;
import dev.granary.coordinator.config.GranaryConfig;
import dev.granary.coordinator.lookup.NamespaceIds;
import dev.granary.coordinator.session.RestoreQuarantine;
import dev.granary.coordinator.stores.BucketTierFactory;
import dev.granary.coordinator.stores.LocalTierFactory;
import dev.granary.gpu.binary.compatibility.BinaryCompatibility;
import dev.granary.gpu.binary.compatibility.CompatibilityChecker;
import dev.granary.local.ClaimResult;
import dev.granary.local.LocalClaims;
import dev.granary.local.LocalTier;
import dev.granary.s3.BucketTier;
import dev.granary.s3.pack.BucketAnswer;

import java.io.IOException;
import java.nio.file.Files;
import java.time.Duration;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * Explainer of the lookups of a configuration: it performs the steps of {@code PrimitiveLookup}
 * without an engine, and changes nothing. No use is recorded, nothing is discarded, stored or
 * claimed, and buckets receive reads only. Caches that an application plugs in are not part of it.
 */
public final class LookupExplainer {
    private static final String LOCAL = "local";

    private final GranaryConfig config;
    private final InstantSource clock;

    /** Creates an explainer. */
    public LookupExplainer(GranaryConfig config, InstantSource clock) {
        this.config = config;
        this.clock = clock;
    }

    /** The steps that were made so far. */
    private static final class Search {
        private final List<TierAnswer> answers = new ArrayList<>();
        private Optional<ClaimAnswer> claim = Optional.empty();
        private Optional<Outcome.Restore> restore = Optional.empty();

        void add(String tier, Id id, Result result) {
            answers.add(new TierAnswer(tier, id.target(), result));
            if (result instanceof Result.Usable) {
                restore = Optional.of(new Outcome.Restore(tier, id.target()));
            }
        }
    }

    /**
     * Explains the lookup of an id.
     *
     * @param id the id in the namespace of the engine; may be empty
     * @param readable the other targets that the engine reads; those that the table of backends
     *     does not permit are left out
     * @param kind the kind of the engine; empty if it is not known
     * @throws ConfigException if a tier cannot be opened as configured
     */
    public LookupExplanation explain(Id id, List<Target> readable, Optional<EngineKind> kind)
            throws ConfigException {
        if (id.isEmpty()) {
            return withoutSearch(id, "the kernel is not cacheable: " + id.reason());
        }
        if (!config.enabled().contains(new EnabledEngines.Family(id.target().backend(), kind))) {
            return withoutSearch(id, "the setting enabled switches its engine off");
        }
        List<Id> ids = NamespaceIds.of(id, readable);
        Search search = new Search();
        searchLocal(ids, search);
        for (BucketConfig layer : config.buckets()) {
            if (search.restore.isEmpty()) {
                searchBucket(layer, ids, search);
            }
        }
        return new LookupExplanation(
                id,
                ids.stream().map(Id::target).toList(),
                search.answers,
                search.claim,
                outcome(search));
    }

    private static LookupExplanation withoutSearch(Id id, String reason) {
        return new LookupExplanation(
                id, List.of(), List.of(), Optional.empty(), new Outcome.Compile(reason));
    }

    private Outcome outcome(Search search) {
        Outcome found = search.restore
                .<Outcome>map(restore -> restore)
                .orElseGet(() -> new Outcome.Compile("no tier has an entry that it may use"));
        return search.claim
                .flatMap(claim -> waitLimit(claim.state()))
                .<Outcome>map(limit -> new Outcome.Wait(limit, found))
                .orElse(found);
    }

    private Optional<Duration> waitLimit(ClaimState state) {
        return switch (state) {
            case UNDER_WAY -> Optional.of(config.localWait());
            case AWAITING_LAUNCH ->
                Optional.of(
                        config.localWait().compareTo(ClaimCoordinator.LAUNCH_GRACE) < 0
                                ? config.localWait()
                                : ClaimCoordinator.LAUNCH_GRACE);
            case FREE, OFF, UNKNOWN -> Optional.empty();
        };
    }

    /** Searches the local tier, and looks at the claim if the tier has no entry. */
    private void searchLocal(List<Id> ids, Search search) throws ConfigException {
        Id own = ids.getFirst();
        if (config.capacityBytes() == 0) {
            search.add(LOCAL, own, new Result.Absent("the tier is off, with the capacity 0"));
            return;
        }
        if (Files.notExists(config.directory())) { // opening it would create it
            search.add(LOCAL, own, new Result.Absent("there is no " + config.directory()));
            return;
        }
        try (LocalTier tier = LocalTierFactory.openWithoutEviction(config)) {
            for (Id id : ids) {
                LoadResult found =
                        tier.read(new EntryCatalog.Listed(id.target().path(), id.hash(), 0, 0));
                search.add(LOCAL, id, judged(own, found, config.directory().toString()));
                if (found instanceof LoadResult.Hit
                        || (id == own && found instanceof LoadResult.Unavailable)) {
                    return;
                }
            }
        }
        search.claim = Optional.of(claim(own));
    }

    private ClaimAnswer claim(Id id) {
        if (config.localWait().isZero()) {
            return new ClaimAnswer(ClaimState.OFF, "lookups make no claims, with local-wait 0");
        }
        try (LocalClaims claims = LocalClaims.open(config.directory())) {
            Optional<ClaimResult.Stage> stage = claims.peek(id);
            if (stage.isEmpty()) {
                return new ClaimAnswer(ClaimState.FREE, "no other process is compiling it");
            }
            return switch (stage.get()) {
                case UNDER_WAY ->
                    new ClaimAnswer(ClaimState.UNDER_WAY, "another process is compiling it");
                case AWAITING_LAUNCH ->
                    new ClaimAnswer(
                            ClaimState.AWAITING_LAUNCH,
                            "another process has compiled it, and stores it after its launch");
            };
        } catch (IOException e) {
            return new ClaimAnswer(ClaimState.UNKNOWN, "the claims cannot be read: " + e);
        }
    }

    private void searchBucket(BucketConfig layer, List<Id> ids, Search search)
            throws ConfigException {
        // without the indexes on disk, which it would write
        try (BucketTier tier = BucketTierFactory.open(layer, Optional.empty())) {
            for (Id id : ids) {
                BucketAnswer answer = tier.loadWithOrigin(id);
                search.add(
                        layer.name(), id, judged(ids.getFirst(), answer.result(), place(answer)));
                if (answer.result() instanceof LoadResult.Hit
                        || answer.result() instanceof LoadResult.Unavailable) {
                    return;
                }
            }
        }
    }

    private static String place(BucketAnswer answer) {
        boolean isHit = answer.result() instanceof LoadResult.Hit;
        return switch (answer.origin()) {
            case PACKS -> "in a pack";
            case UNPACKED -> isHit ? "as an unpacked entry" : "in no pack, and not unpacked";
        };
    }

    /** Judges a result for the engine of {@code own}, as a lookup does before the driver. */
    private Result judged(Id own, LoadResult found, String place) {
        return switch (found) {
            case LoadResult.Absent _ -> new Result.Absent(place);
            case LoadResult.Damaged(var kind, String detail) -> new Result.Damaged(kind, detail);
            case LoadResult.Unavailable(String cause) -> new Result.Unavailable(cause);
            case LoadResult.Hit(Entry entry) -> {
                Optional<String> quarantine = quarantine(entry);
                if (quarantine.isPresent()) {
                    yield new Result.Quarantined(entry, place, quarantine.get());
                }
                BinaryCompatibility compatibility =
                        CompatibilityChecker.check(own.target(), entry.binaries());
                if (compatibility instanceof BinaryCompatibility.Incompatible(String reason)) {
                    yield new Result.Incompatible(entry, place, reason);
                }
                yield new Result.Usable(entry, place, compatibility);
            }
        };
    }

    private Optional<String> quarantine(Entry entry) {
        if (config.capacityBytes() == 0) {
            return Optional.empty();
        }
        try {
            return RestoreQuarantine.reason(config.directory(), entry, clock.instant());
        } catch (IOException e) {
            return Optional.empty(); // as in a lookup, whose process has no session then
        }
    }
}
