package dev.granary.cli;

import dev.granary.cache.Catalog;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/** The options that choose entries: those that all given ones fit; without any, all entries. */
final class SelectionOptions {
    @Option(names = "--target", paramLabel = "PREFIX", description = "only entries whose target, as ls shows it, begins so: opencl/nvidia")
    private @Nullable String target;

    @Option(names = "--older-than", paramLabel = "AGE", description = "only entries not used for that long: 30d, 12h, 45m")
    private @Nullable String olderThan;

    @Option(names = "--id", paramLabel = "PREFIX", description = "only entries whose ids begin with these digits")
    private @Nullable String id;

    /** True where something was chosen. */
    boolean isGiven() {
        return target != null || olderThan != null || id != null;
    }

    /** Refuses options that mean nothing, before anything is opened. */
    void check() throws UsageException {
        from(List.of(), Instant.EPOCH);
    }

    /** The chosen ones of {@code entries}, in their order. */
    List<Catalog.Listed> from(List<Catalog.Listed> entries, Instant now) throws UsageException {
        return entries.stream().filter(chosen(now)).toList();
    }

    /** Tells whether an entry is chosen. */
    Predicate<Catalog.Listed> chosen(Instant now) throws UsageException {
        String prefix = target == null ? "" : target;
        String digits = id == null ? "" : IdPrefix.parse(id);
        Duration age = olderThan == null ? null : Age.parse(olderThan, "--older-than");
        long latest = age == null ? Long.MAX_VALUE : now.minus(age).toEpochMilli();
        return entry -> entry.namespace().startsWith(prefix) && (digits.isEmpty() || entry.beginsWith(digits)) && entry.lastUsedMillis() <= latest;
    }
}
