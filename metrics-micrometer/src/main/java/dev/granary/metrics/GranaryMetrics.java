package dev.granary.metrics;

import dev.granary.coordinator.Granary;
import dev.granary.coordinator.statistics.Counter;
import dev.granary.coordinator.statistics.GranaryStatistics.LayerStatistics;

import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Tag;
import io.micrometer.core.instrument.Tags;
import io.micrometer.core.instrument.binder.MeterBinder;

import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.function.ToDoubleFunction;

/**
 * Binder of all counters of one {@link Granary}, and of the sizes of its caches in memory. Counters
 * come from their declarations, so a new one needs no change here. Values are read when the
 * registry is read, without cost for lookups. {@code docs/operations.md} has the names. The
 * registry does not keep the Granary alive. Thread-safe.
 */
public final class GranaryMetrics implements MeterBinder {
    private static final String LAYER = "layer";

    private final Granary granary;
    private final Tags tags;

    /** Creates a binder without further tags. */
    public GranaryMetrics(Granary granary) {
        this(granary, List.of());
    }

    /**
     * Creates a binder.
     *
     * @param tags tags of each meter. Several instances in one registry need different ones
     */
    public GranaryMetrics(Granary granary, Iterable<Tag> tags) {
        this.granary = granary;
        this.tags = Tags.of(tags);
    }

    @Override
    public void bindTo(MeterRegistry registry) {
        List<LayerStatistics> layers = granary.statistics().layers();
        for (int i = 0; i < layers.size(); i++) {
            bind(registry, layers.get(i), i);
        }
        for (Counter counter : Counter.values()) {
            if (!counter.isOfLayers()) {
                bind(registry, counter, tags, each -> each.statistics().counters());
            }
        }
        gauge(registry, "granary.programs", "programs in memory", Granary::programCacheSize);
        gauge(
                registry,
                "granary.programs.capacity",
                "the capacity of the memory in programs",
                Granary::primitiveCacheCapacity);
        gauge(
                registry,
                "granary.composites",
                "composite primitives in memory",
                Granary::compositeCacheSize);
        gauge(
                registry,
                "granary.composites.capacity",
                "the capacity of the memory in composite primitives",
                Granary::primitiveCacheCapacity);
        if (granary.localCapacity().isPresent()) {
            Gauge.builder("granary.capacity", granary, each -> each.localCapacity()
                            .orElse(0))
                    .description("the capacity of the local tier")
                    .baseUnit("bytes")
                    .tags(tags)
                    .register(registry);
        }
    }

    private void bind(MeterRegistry registry, LayerStatistics layer, int position) {
        Tags ofLayer = tags.and(LAYER, layer.name());
        for (Counter counter : Counter.values()) {
            if (layer.counters().containsKey(counter.label())) {
                bind(registry, counter, ofLayer, each -> layer(each, position).counters());
            }
        }
        if (layer.breaker().isPresent()) {
            Gauge.builder("granary.layer.breaker", granary, each -> breaker(layer(each, position)))
                    .description("the circuit breaker: 0 closed, 1 half open, 2 open")
                    .tags(ofLayer)
                    .register(registry);
        }
    }

    private static LayerStatistics layer(Granary granary, int position) {
        return granary.statistics().layers().get(position);
    }

    private static double breaker(LayerStatistics layer) {
        return switch (layer.breaker().orElse(LayerStatistics.Breaker.CLOSED)) {
            case CLOSED -> 0;
            case HALF_OPEN -> 1;
            case OPEN -> 2;
        };
    }

    private void bind(
            MeterRegistry registry,
            Counter counter,
            Tags tagsOfCounter,
            Function<Granary, Map<String, Long>> counters) {
        FunctionCounter.builder(
                        counter.metricName(),
                        granary,
                        each -> counter.inBaseUnit(
                                counters.apply(each).getOrDefault(counter.label(), 0L)))
                .description(counter.description())
                .baseUnit(counter.baseUnit().orElse(null))
                .tags(tagsOfCounter)
                .register(registry);
    }

    private void gauge(
            MeterRegistry registry,
            String name,
            String description,
            ToDoubleFunction<Granary> value) {
        Gauge.builder(name, granary, value).description(description).tags(tags).register(registry);
    }
}
