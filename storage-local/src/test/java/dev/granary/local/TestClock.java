package dev.granary.local;

import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;

/** Clock that advances only when it is moved. */
final class TestClock implements InstantSource {
    private volatile Instant now = Instant.parse("2030-01-01T00:00:00Z");

    @Override
    public Instant instant() {
        return now;
    }

    void advance(Duration duration) {
        now = now.plus(duration);
    }
}
