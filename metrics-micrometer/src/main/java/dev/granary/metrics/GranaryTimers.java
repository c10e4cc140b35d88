package dev.granary.metrics;

import dev.granary.cache.StoreResult;
import dev.granary.coordinator.event.CompileEvent;
import dev.granary.coordinator.event.EvictionEvent;
import dev.granary.coordinator.event.GranaryListener;
import dev.granary.coordinator.event.LoadEvent;
import dev.granary.coordinator.event.LookupEvent;
import dev.granary.coordinator.event.RestoreEvent;
import dev.granary.coordinator.event.StoreEvent;
import dev.granary.coordinator.event.UploadEvent;
import dev.granary.coordinator.event.WaitEvent;

import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Tag;
import io.micrometer.core.instrument.Tags;

import java.time.Duration;
import java.util.List;
import java.util.Locale;

/**
 * Listener that records the durations of events in timers of a Micrometer registry: lookups by
 * source, loads by tier and outcome, and so on. Histograms and percentiles are a matter of the
 * registry's meter filters. {@code docs/metrics.md} lists the names. Thread-safe.
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
    public void onLookup(LookupEvent event) {
        record(
                "granary.lookup",
                event.duration(),
                "source",
                event.source().map(GranaryTimers::text).orElse(FAILED));
    }

    @Override
    public void onLoad(LoadEvent event) {
        record(
                "granary.load",
                event.duration(),
                TIER,
                event.tier(),
                OUTCOME,
                text(event.outcome()));
    }

    @Override
    public void onRestore(RestoreEvent event) {
        record(
                "granary.restore",
                event.duration(),
                TIER,
                event.tier(),
                OUTCOME,
                text(event.outcome()));
    }

    @Override
    public void onWait(WaitEvent event) {
        record("granary.wait", event.duration(), OUTCOME, text(event.outcome()));
    }

    @Override
    public void onCompile(CompileEvent event) {
        record(
                "granary.compile",
                event.duration(),
                OUTCOME,
                event.failure().isEmpty() ? "compiled" : FAILED);
    }

    @Override
    public void onStore(StoreEvent event) {
        record("granary.store", event.duration(), OUTCOME, text(event.result()));
    }

    @Override
    public void onUpload(UploadEvent event) {
        record(
                "granary.upload",
                event.duration(),
                "layer",
                event.layer(),
                OUTCOME,
                text(event.result()));
    }

    @Override
    public void onEviction(EvictionEvent event) {
        record("granary.eviction", event.duration());
    }

    private void record(String name, Duration duration, String... more) {
        registry.timer(name, tags.and(more)).record(duration);
    }

    private static String text(Enum<?> value) {
        return value.name().toLowerCase(Locale.ROOT);
    }

    private static String text(StoreResult result) {
        return result.getClass().getSimpleName().toLowerCase(Locale.ROOT);
    }
}
