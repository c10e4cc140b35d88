package dev.granary.metrics;

import dev.granary.cache.StoreResult;
import dev.granary.coordinator.event.GranaryEvent;
import dev.granary.coordinator.event.GranaryListener;

import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Tag;
import io.micrometer.core.instrument.Tags;
import io.micrometer.core.instrument.Timer;

import java.util.List;
import java.util.Locale;

/**
 * Listener that records the durations of events in timers of a Micrometer registry: lookups by
 * source, loads by tier and outcome, and so on. Histograms and percentiles are a matter of the
 * registry's meter filters. {@code docs/operations.md} lists the names. Thread-safe.
 */
public final class GranaryTimers implements GranaryListener {
    private static final String FAILED = "failed";
    private static final String OUTCOME = "outcome";
    private static final String TIER = "tier";

    private final MeterRegistry registry;
    private final Tags tags;

    /** Creates a listener without further tags. */
    public GranaryTimers(MeterRegistry registry) {
        this(registry, List.of());
    }

    /**
     * Creates a listener.
     *
     * @param tags tags of each timer
     */
    public GranaryTimers(MeterRegistry registry, Iterable<Tag> tags) {
        this.registry = registry;
        this.tags = Tags.of(tags);
    }

    @Override
    public void onEvent(GranaryEvent event) {
        Timer timer =
                switch (event) {
                    case GranaryEvent.Lookup lookup ->
                        timer(
                                "granary.lookup",
                                "source",
                                lookup.source().map(GranaryTimers::text).orElse(FAILED));
                    case GranaryEvent.Load load ->
                        timer("granary.load", TIER, load.tier(), OUTCOME, text(load.outcome()));
                    case GranaryEvent.Restore restore ->
                        timer(
                                "granary.restore",
                                TIER,
                                restore.tier(),
                                OUTCOME,
                                text(restore.outcome()));
                    case GranaryEvent.Wait wait ->
                        timer("granary.wait", OUTCOME, text(wait.outcome()));
                    case GranaryEvent.Compile compile ->
                        timer(
                                "granary.compile",
                                OUTCOME,
                                compile.failure().isEmpty() ? "compiled" : FAILED);
                    case GranaryEvent.Store store ->
                        timer("granary.store", OUTCOME, text(store.result()));
                    case GranaryEvent.Upload upload ->
                        timer(
                                "granary.upload",
                                "layer",
                                upload.layer(),
                                OUTCOME,
                                text(upload.result()));
                    case GranaryEvent.Eviction eviction ->
                        timer("granary.eviction", TIER, eviction.tier());
                };
        timer.record(event.duration());
    }

    private Timer timer(String name, String... more) {
        return registry.timer(name, tags.and(more));
    }

    private static String text(Enum<?> value) {
        return value.name().toLowerCase(Locale.ROOT);
    }

    private static String text(StoreResult result) {
        return result.getClass().getSimpleName().toLowerCase(Locale.ROOT);
    }
}
