package dev.granary.testing;

import static dev.granary.testing.CacheAssertions.assertThat;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.cache.Entry;
import dev.granary.cache.Id;
import dev.granary.cache.KernelBinaries;
import dev.granary.cache.LoadResult;
import dev.granary.cache.LoadResult.DamageKind;
import dev.granary.cache.Sha256;
import dev.granary.cache.StoreResult;
import dev.granary.cache.contract.TestEntries;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.opentest4j.AssertionFailedError;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Consumer;

/** Tests of {@link CacheAssertions}: each assertion accepts its own cases and no other. */
class CacheAssertionsTest {
    private final TestEntries entries = new TestEntries(getClass().getName());
    private final Entry entry = entries.entry(100);
    private final LoadResult hit = new LoadResult.Hit(entry);
    private final LoadResult damaged = new LoadResult.Damaged(DamageKind.CORRUPT, "byte 7");
    private final LoadResult unavailable = new LoadResult.Unavailable("no route");
    private final Set<LoadResult> loads = Set.of(hit, LoadResult.ABSENT, damaged, unavailable);

    private final StoreResult stored = new StoreResult.Stored(57);
    private final StoreResult refused =
            new StoreResult.Refused(StoreResult.Scope.STORE, "read-only");
    private final StoreResult failed = new StoreResult.Failed("reset");
    private final StoreResult unknown = new StoreResult.Unknown("no answer");
    private final Set<StoreResult> stores =
            Set.of(stored, StoreResult.DUPLICATE, StoreResult.DIVERGENT, refused, failed, unknown);

    @Test
    @DisplayName("an assertion about a load accepts its own case only, and shows any other result")
    void casesOfLoad() {
        ResultAssertVerifier.eachAcceptsItsOwn(
                LoadResult.class,
                Map.of(
                        hit,
                        result -> assertThat(result).isHit(),
                        LoadResult.ABSENT,
                        result -> assertThat(result).isAbsent(),
                        damaged,
                        result -> assertThat(result).isDamaged(),
                        unavailable,
                        result -> assertThat(result).isUnavailable()));
        ResultAssertVerifier.acceptsOnly(
                Set.of(LoadResult.ABSENT, damaged, unavailable), loads, result -> assertThat(result)
                        .isMiss());
        ResultAssertVerifier.acceptsOnly(
                Set.of(hit), loads, result -> assertThat(result).isHitOf(entry));
        ResultAssertVerifier.acceptsOnly(
                Set.of(hit), loads, result -> assertThat(result).isHitOf(entry.id()));
        ResultAssertVerifier.acceptsOnly(
                Set.of(damaged), loads, result -> assertThat(result).isDamaged(DamageKind.CORRUPT));
    }

    @Test
    @DisplayName(
            "an assertion about a store accepts its own cases only, and shows any other result")
    void casesOfStore() {
        ResultAssertVerifier.eachAcceptsItsOwn(
                StoreResult.class,
                Map.of(
                        stored,
                        result -> assertThat(result).isStored(),
                        StoreResult.DUPLICATE,
                        result -> assertThat(result).isDuplicate(),
                        StoreResult.DIVERGENT,
                        result -> assertThat(result).isDivergent(),
                        refused,
                        result -> assertThat(result).isRefused(),
                        failed,
                        result -> assertThat(result).isFailed(),
                        unknown,
                        result -> assertThat(result).isUnknown()));
        ResultAssertVerifier.acceptsOnly(
                Set.of(stored, StoreResult.DUPLICATE), stores, result -> assertThat(result)
                        .isStoredOrDuplicate());
        ResultAssertVerifier.acceptsOnly(
                Set.of(stored, StoreResult.DUPLICATE, StoreResult.DIVERGENT),
                stores,
                result -> assertThat(result).isAcknowledged());
    }

    @Test
    @DisplayName("given cases: one of them, none of them, or exactly one")
    void givenCases() {
        ResultAssertVerifier.acceptsOnly(
                Set.of(failed, unknown), stores, result -> assertThat(result)
                        .isOneOf(StoreResult.Failed.class, StoreResult.Unknown.class));
        ResultAssertVerifier.acceptsOnly(
                Set.of(stored, StoreResult.DUPLICATE, StoreResult.DIVERGENT, refused),
                stores,
                result -> assertThat(result)
                        .isNoneOf(StoreResult.Failed.class, StoreResult.Unknown.class));
        ResultAssertVerifier.acceptsOnly(
                Set.of(stored), stores, result -> assertThat(result).is(StoreResult.Stored.class));
    }

    @Test
    @DisplayName("the content of a case is returned")
    void content() {
        assertSame(entry, assertThat(hit).isHit());
        assertSame(damaged, assertThat(damaged).isDamaged());
        assertSame(damaged, assertThat(damaged).isDamaged(DamageKind.CORRUPT));
        assertEquals("no route", assertThat(unavailable).isUnavailable());
        assertEquals(57, assertThat(stored).isStored());
        assertEquals("read-only", assertThat(refused).isRefused());
        assertEquals("reset", assertThat(failed).isFailed());
        assertEquals("no answer", assertThat(unknown).isUnknown());
    }

    private static Entry ofHash(Sha256 stated, Id id, KernelBinaries binaries) {
        return Entry.ofStored(id, binaries, Duration.ZERO, stated, Optional::empty);
    }

    @Test
    @DisplayName("a hit of another id, of other binaries, or with binaries that its hash does not"
            + " cover is refused; other damage too")
    void otherContent() {
        Entry other = entries.entry(100);
        ResultAssertVerifier.refuses(result -> assertThat(result).isHitOf(other), hit);
        ResultAssertVerifier.refuses(result -> assertThat(result).isHitOf(other.id()), hit);
        Entry sameId = entries.entry(entry.id(), 100);
        assertThat(hit).isHitOf(sameId.id());
        ResultAssertVerifier.refuses(result -> assertThat(result).isHitOf(sameId), hit);
        Entry wrongHash = ofHash(sameId.contentHash(), entry.id(), entry.binaries());
        ResultAssertVerifier.refuses(result -> assertThat(result).isHitOf(wrongHash), hit);
        LoadResult hitOfWrongHash = new LoadResult.Hit(wrongHash);
        for (Entry each : List.of(entry, sameId, wrongHash)) {
            ResultAssertVerifier.refuses(
                    result -> assertThat(result).isHitOf(each), hitOfWrongHash);
        }
        // the hash of an expected entry is no substitute for its id and binaries
        for (Entry each : List.of(
                ofHash(entry.contentHash(), other.id(), entry.binaries()),
                ofHash(entry.contentHash(), entry.id(), other.binaries()))) {
            ResultAssertVerifier.refuses(result -> assertThat(result).isHitOf(each), hit);
        }
        for (DamageKind kind : DamageKind.values()) {
            if (kind != DamageKind.CORRUPT) {
                ResultAssertVerifier.refuses(result -> assertThat(result).isDamaged(kind), damaged);
            }
        }
    }

    @Test
    @DisplayName("the description stands before the result in the message of each failure")
    void description() {
        List<Consumer<StoreResultAssert>> failing = List.of(
                StoreResultAssert::isDuplicate,
                StoreResultAssert::isAcknowledged,
                result -> result.isNoneOf(StoreResult.Failed.class));
        for (Consumer<StoreResultAssert> each : failing) {
            String message = assertThrows(
                            AssertionFailedError.class,
                            () -> each.accept(assertThat(failed).as("the second store")))
                    .getMessage();
            assertTrue(message.contains("the second store: " + failed), message);
        }
    }
}
