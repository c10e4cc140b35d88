package dev.granary.examples;

import dev.granary.coordinator.event.GranaryEvent;
import dev.granary.coordinator.event.GranaryListener;

import java.time.Duration;
import java.util.function.Consumer;

/** A listener that reports each slow compile, and each tier that gave no answer. */
public final class SlowCompileLog implements GranaryListener {
    private static final Duration SLOW = Duration.ofMillis(100);

    private final Consumer<String> log;

    public SlowCompileLog(Consumer<String> log) {
        this.log = log;
    }

    @Override
    public void onCompile(GranaryEvent.Compile event) {
        if (event.duration().compareTo(SLOW) > 0) {
            log.accept(event.id() + " compiled for " + event.duration().toMillis() + " ms");
        }
    }

    @Override
    public void onLoad(GranaryEvent.Load event) {
        if (event.outcome() == GranaryEvent.Load.Outcome.UNAVAILABLE) {
            log.accept(event.tier() + " gave no answer: " + event.cause().orElse(""));
        }
    }
}
