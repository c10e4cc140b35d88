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
    public void onEvent(GranaryEvent event) {
        if (event instanceof GranaryEvent.Compile compile
                && compile.duration().compareTo(SLOW) > 0) {
            log.accept(compile.id() + " compiled for " + compile.duration().toMillis() + " ms");
        } else if (event instanceof GranaryEvent.Load load
                && load.outcome() == GranaryEvent.Load.Outcome.UNAVAILABLE) {
            log.accept(load.tier() + " gave no answer: " + load.cause().orElse(""));
        }
    }
}
