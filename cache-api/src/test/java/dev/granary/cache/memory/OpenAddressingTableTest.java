package dev.granary.cache.memory;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;

import dev.granary.testing.TestSeed;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/** Tests of the table against a map. */
class OpenAddressingTableTest {
    /** A key with few distinct hash codes. */
    private record Key(int number, int hashes) {
        @Override
        public int hashCode() {
            return number % hashes;
        }
    }

    private volatile OpenAddressingTable<Key, String> current = new PrimitiveCache<>(0);

    @ParameterizedTest
    @ValueSource(ints = {1, 7, 1000, Integer.MAX_VALUE})
    @DisplayName(
            "M9 added and removed keys with good, bad and equal hash codes: exactly the present"
                    + " ones are found")
    void comeAndGo(int hashes) {
        SplittableRandom random = TestSeed.random(getClass().getName() + hashes);
        OpenAddressingTable<Key, String> table = new PrimitiveCache<>(0);
        Map<Key, CacheSlot<Key, String>> expected = new HashMap<>();
        int keys = 200;
        for (int step = 0; step < 20_000; step++) {
            if (step % 5000 == 4999) {
                keys = keys == 200 ? 3 : 200; // removes most
            }
            Key key = new Key(random.nextInt(200), hashes);
            CacheSlot<Key, String> present = expected.get(key);
            assertSame(present, table.slot(new Key(key.number, hashes)));
            if (present != null) {
                table.remove(present);
                expected.remove(key);
            } else if (key.number < keys) {
                CacheSlot<Key, String> slot = slot(key);
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

    @Test
    @DisplayName(
            "M9 present keys are found by every lookup while removals of neighbours move them and"
                    + " while the table grows")
    void foundWhileMoving() throws Exception {
        SplittableRandom random = TestSeed.random(getClass().getName() + "moving");
        List<Key> stay = IntStream.range(0, 40).mapToObj(i -> new Key(2 * i, 1)).toList();
        current = interleaved(stay, new ArrayList<>());
        AtomicBoolean isOver = new AtomicBoolean();
        AtomicInteger missed = new AtomicInteger();
        try (ExecutorService threads = Executors.newFixedThreadPool(4)) {
            Runnable reader = () -> {
                while (!isOver.get()) {
                    OpenAddressingTable<Key, String> table = current;
                    stay.forEach(key -> missed.addAndGet(table.slot(key) == null ? 1 : 0));
                }
            };
            List<Future<?>> readers = Stream.<Future<?>>generate(() -> threads.submit(reader))
                    .limit(4)
                    .toList();
            for (int round = 0; round < 5_000; round++) {
                List<CacheSlot<Key, String>> others = new ArrayList<>();
                OpenAddressingTable<Key, String> table = interleaved(stay, others);
                current = table;
                while (!others.isEmpty()) {
                    table.remove(others.remove(random.nextInt(others.size())));
                }
                if (round % 100 == 0) {
                    IntStream.range(1000, 3000)
                            .forEach(i -> table.add(slot(new Key(i, Integer.MAX_VALUE))));
                }
            }
            isOver.set(true);
            for (Future<?> one : readers) {
                one.get();
            }
        }
        assertEquals(0, missed.get(), "lookups that missed");
    }

    /**
     * Returns a table in which all keys have one hash code, and each key of {@code stay} follows
     * another.
     */
    private static OpenAddressingTable<Key, String> interleaved(
            List<Key> stay, List<CacheSlot<Key, String>> others) {
        OpenAddressingTable<Key, String> table = new PrimitiveCache<>(0);
        for (Key key : stay) {
            others.add(slot(new Key(key.number + 1, 1)));
            table.add(others.getLast());
            table.add(slot(key));
        }
        return table;
    }

    private static CacheSlot<Key, String> slot(Key key) {
        return new CacheSlot<>(key, key.hashCode(), "value", 0);
    }
}
