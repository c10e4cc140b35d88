package dev.granary.cache.memory;

import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;

import dev.granary.cache.contract.Seed;
import java.util.HashMap;
import java.util.Map;
import java.util.SplittableRandom;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The table against a map. */
class SlotTableTest {
    /** A key with a hash code of few bits. */
    private record Key(int number, int hashes) {
        @Override
        public int hashCode() {
            return number % hashes;
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 7, 1000, Integer.MAX_VALUE})
    @DisplayName("M9 keys with good, bad and equal hash codes that come and go: each is found where it is, and only there")
    void comeAndGo(int hashes) {
        SplittableRandom random = Seed.random(getClass().getName() + hashes);
        SlotTable<Key, String> table = new PrimitiveCache<>(0);
        Map<Key, Slot<Key, String>> expected = new HashMap<>();
        int keys = 200;
        for (int step = 0; step < 20_000; step++) {
            if (step % 5000 == 4999) {
                keys = keys == 200 ? 3 : 200; // most go
            }
            Key key = new Key(random.nextInt(200), hashes);
            Slot<Key, String> present = expected.get(key);
            assertSame(present, table.slot(new Key(key.number, hashes)));
            if (present != null) {
                table.remove(present);
                expected.remove(key);
            } else if (key.number < keys) {
                Slot<Key, String> slot = new Slot<>(key, key.hashCode(), "value", 0, 0);
                table.add(slot);
                expected.put(key, slot);
            }
            if (random.nextInt(100) == 0) {
                table.trim();
            }
        }
        for (int number = 0; number < 200; number++) {
            Key key = new Key(number, hashes);
            assertSame(expected.get(key), table.slot(key));
        }
    }

    /** Says that it equals whatever it is compared with. */
    private record Greedy(int hash) {
        @Override
        public int hashCode() {
            return hash;
        }

        @Override
        public boolean equals(@Nullable Object other) {
            return true;
        }
    }

    @Test
    @DisplayName("M9 the place of what has left is nobody's, even for a key that equals everything")
    void gone() {
        SlotTable<Greedy, String> table = new PrimitiveCache<>(0);
        Slot<Greedy, String> slot = new Slot<>(new Greedy(0), 0, "value", 0, 0);
        table.add(slot);
        assertSame(slot, table.slot(new Greedy(0)));
        table.remove(slot);
        assertNull(table.slot(new Greedy(0)));
    }
}
