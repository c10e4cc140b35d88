package dev.granary.cache.support;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;

/** Tests of {@link Warnings}. */
class WarningsTest {
    private final AtomicLong nanos = new AtomicLong();
    private final List<String> lines = new ArrayList<>();
    private final Warnings warnings = new Warnings(nanos::get, lines::add);

    @Test
    @DisplayName("There is one line per kind and hour, which counts those that were left out")
    void onePerHour() {
        warnings.add("upload", "first");
        warnings.add("upload", "second");
        warnings.add("disk", "other kind");
        nanos.set(TimeUnit.HOURS.toNanos(1) - 1);
        warnings.add("upload", "third");
        assertEquals(List.of("first", "other kind"), lines);
        nanos.incrementAndGet();
        warnings.add("upload", "fourth");
        nanos.addAndGet(TimeUnit.HOURS.toNanos(1));
        warnings.add("upload", "fifth");
        assertEquals(
                List.of("first", "other kind", "fourth (and 2 more of this kind)", "fifth"), lines);
    }
}
