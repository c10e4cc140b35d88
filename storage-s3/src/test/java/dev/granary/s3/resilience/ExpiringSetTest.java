package dev.granary.s3.resilience;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.testing.TestTicker;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import java.time.Duration;

/** Tests of expiry and eviction. */
class ExpiringSetTest {
    private final TestTicker ticker = new TestTicker();
    private final ExpiringSet<String> set = new ExpiringSet<>(3, Duration.ofSeconds(5), ticker);

    @Test
    @DisplayName("an element stays for the lifetime, not longer, and the oldest is evicted above"
            + " the capacity")
    void lifetime() {
        set.add("a", set.mark());
        ticker.pass(Duration.ofSeconds(4));
        assertTrue(set.contains("a"));
        set.add("b", set.mark());
        ticker.pass(Duration.ofSeconds(1));
        assertFalse(set.contains("a"));
        assertTrue(set.contains("b"));
        for (String next : new String[] {"c", "d", "e"}) {
            set.add(next, set.mark());
        }
        assertFalse(set.contains("b"));
        assertTrue(set.contains("c"));
    }

    @Test
    @DisplayName("an element found before a removal is not added after it")
    void removal() {
        long mark = set.mark();
        set.remove("a");
        set.add("a", mark);
        assertFalse(set.contains("a"));
        set.add("a", set.mark());
        assertTrue(set.contains("a"));
    }

    @Test
    @DisplayName("with a lifetime of zero the set stays empty")
    void zeroLifetime() {
        ExpiringSet<String> none = new ExpiringSet<>(3, Duration.ZERO, ticker);
        none.add("a", none.mark());
        assertFalse(none.contains("a"));
    }
}
