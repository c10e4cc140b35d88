package dev.granary.examples;

import dev.granary.coordinator.event.CompileEvent;
import dev.granary.coordinator.event.GranaryListener;
import dev.granary.coordinator.event.LoadEvent;

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
    public void onCompile(CompileEvent event) {
        if (event.duration().compareTo(SLOW) > 0) {
            log.accept(event.id() + " compiled for " + event.duration().toMillis() + " ms");
        }
    }

    @Override
    public void onLoad(LoadEvent event) {
        if (event.outcome() == LoadEvent.Outcome.UNAVAILABLE) {
            log.accept(event.tier() + " gave no answer: " + event.cause().orElse(""));
        }
    }
}
