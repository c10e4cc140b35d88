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
    private final Warnings warnings = new Warnings(nanos::get);

    @Test
    @DisplayName("There is one line per kind and hour, which counts those that were left out")
    void onePerHour() {
        warnings.add("upload", "first", lines::add);
        warnings.add("upload", "second", lines::add);
        warnings.add("disk", "other kind", lines::add);
        nanos.set(TimeUnit.HOURS.toNanos(1) - 1);
        warnings.add("upload", "third", lines::add);
        assertEquals(List.of("first", "other kind"), lines);
        nanos.incrementAndGet();
        warnings.add("upload", "fourth", lines::add);
        nanos.addAndGet(TimeUnit.HOURS.toNanos(1));
        warnings.add("upload", "fifth", lines::add);
        assertEquals(
                List.of("first", "other kind", "fourth (and 2 more of this kind)", "fifth"), lines);
    }
}
