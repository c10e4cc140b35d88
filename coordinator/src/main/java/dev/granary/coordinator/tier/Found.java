package dev.granary.coordinator.tier;

import dev.granary.cache.Entry;
import dev.granary.cache.Primitive;
import dev.granary.cache.Target;
import dev.granary.coordinator.statistics.PrimitiveSource;

import java.time.Duration;
import java.util.Optional;
import java.util.OptionalInt;

/**
 * The result of a lookup below the memory tier.
 *
 * @param origin the entry from which it was restored; empty if it was compiled
 */
public record Found<P extends Primitive>(P primitive, Optional<Stored> origin) {
    /**
     * A restored entry.
     *
     * @param layer the position of the layer; empty for the local tier
     * @param waited the time of the wait for the compile of another process or machine; zero if the
     *     entry was there
     */
    public record Stored(Entry entry, CountedTier tier, OptionalInt layer, Duration waited) {}

    /** Returns the time of the wait for the compile of another process or machine. */
    public Duration waited() {
        return origin.map(Stored::waited).orElse(Duration.ZERO);
    }

    public PrimitiveSource source() {
        return origin.map(stored ->
                        stored.layer().isPresent() ? PrimitiveSource.BUCKET : PrimitiveSource.LOCAL)
                .orElse(PrimitiveSource.COMPILED);
    }

    /** Returns the target of a restored entry of another namespace; empty for any other. */
    public Optional<Target> otherNamespace() {
        return origin.map(stored -> stored.entry().id().target())
                .filter(target -> !target.equals(primitive.descriptor().getId().target()));
    }
}
