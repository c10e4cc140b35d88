package dev.granary.coordinator.lookup;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;

import dev.granary.cache.Id;
import dev.granary.cache.LoadResult;
import dev.granary.cache.contract.TestEntries;
import dev.granary.cache.support.ClaimStore;
import dev.granary.cache.support.Ticker;
import dev.granary.coordinator.FakeBucket;
import dev.granary.coordinator.observe.Counters;
import dev.granary.coordinator.tier.CompileTimes;
import dev.granary.coordinator.tier.TestTiers;
import dev.granary.coordinator.tier.Tiers.Layer;
import dev.granary.coordinator.tier.TimeBudget;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;

/** Claims in a directory or bucket that answers lookups, and hangs in a call of a claim. */
@Timeout(60)
class HangingClaimsTest {
    private static final Duration LIMIT = Duration.ofMillis(200);

    private final CompileTimes compileTimes = new CompileTimes();
    private final TimeBudget budget = new TimeBudget(compileTimes, LIMIT);
    private final Layer layer = TestTiers.layer(new FakeBucket(), budget);
    private final CountDownLatch end = new CountDownLatch(1);
    private final List<String> calls = new CopyOnWriteArrayList<>();

    /** Claims that answer the first call only if it is for {@code answered}. */
    private record Hanging(HangingClaimsTest test, String answered) implements ClaimStore {
        private Result call(String name) {
            test.calls.add(name);
            if (!name.equals(answered)) {
                try {
                    test.end.await();
                } catch (InterruptedException e) {
                    Thread.currentThread().interrupt();
                }
            }
            Claim other =
                    new Claim("0123456789abcdef", Duration.ofMinutes(5), Claim.State.COMPILING);
            return new Result.Taken(other, Optional.empty(), "1");
        }

        @Override
        public Result claim(Id id, Claim claim) {
            return call("claim");
        }

        @Override
        public Result takeOver(Id id, Result.Taken old, Claim claim) {
            return call("take over");
        }

        @Override
        public void fail(Id id, Result.Mine mine, Claim claim) {
            call("fail");
        }

        @Override
        public Result read(Id id) {
            return call("read");
        }

        @Override
        public LoadResult poll(Id id) {
            call("poll");
            return LoadResult.ABSENT;
        }
    }

    private FleetClaims claims(String answered) {
        return new FleetClaims(
                layer,
                new Hanging(this, answered),
                false,
                compileTimes,
                Duration.ofSeconds(1),
                Ticker.SYSTEM,
                new Counters(),
                TestTiers.NO_LISTENERS);
    }

    @AfterEach
    void release() {
        end.countDown();
        layer.tier().close();
    }

    @Test
    @DisplayName("A claim that hangs delays one lookup by the time budget, and no other one")
    void claim() {
        FleetClaims claims = claims("nothing");
        for (int i = 0; i < 20; i++) {
            assertSame(FleetClaims.Outcome.NONE, claims.claim(TestEntries.id("kernel " + i), true));
        }
        assertEquals(List.of("claim"), calls);
    }

    @Test
    @DisplayName("A poll that hangs delays a lookup by no more than two waits")
    void poll() {
        assertSame(FleetClaims.Outcome.NONE, claims("claim").claim(TestEntries.id("kernel"), true));
        assertEquals(List.of("claim", "poll"), calls);
    }

    @Test
    @DisplayName("A claim that the time budget does not allow is no fast answer: cheap kernels are"
            + " not claimed afterwards")
    void skipped() {
        FleetClaims claims = claims("claim");
        budget.charge(LIMIT.toNanos());
        assertSame(FleetClaims.Outcome.NONE, claims.claim(TestEntries.id("first"), true));
        budget.clear();
        compileTimes.compiled(Duration.ofMillis(50).toNanos());
        assertSame(FleetClaims.Outcome.NONE, claims.claim(TestEntries.id("cheap"), true));
        assertEquals(List.of(), calls);
    }
}
