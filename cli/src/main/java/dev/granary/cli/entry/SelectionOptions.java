package dev.granary.cli.entry;

import dev.granary.cache.EntryCatalog.Listed;
import dev.granary.cli.option.Converters;

import org.jspecify.annotations.Nullable;

import picocli.CommandLine.Option;

import java.time.Duration;
import java.time.Instant;
import java.util.List;

/** The options that select entries, by default all; all given ones apply. */
final class SelectionOptions {
    @Option(
            names = "--target",
            paramLabel = "PREFIX",
            description =
                    "only entries whose target, as ls shows it, begins with PREFIX: opencl/nvidia")
    private @Nullable String target;

    @Option(
            names = "--older-than",
            paramLabel = "AGE",
            converter = Converters.Age.class,
            description = "only entries not used for that long: 30d, 12h, 45m")
    private @Nullable Duration olderThan;

    @Option(
            names = "--id",
            paramLabel = "PREFIX",
            converter = Converters.IdPrefix.class,
            description = "only entries whose ids begin with these digits")
    private @Nullable String id;

    boolean isGiven() {
        return target != null || olderThan != null || id != null;
    }

    /** Returns the selected ones of {@code entries}, in their order. */
    List<Listed> from(List<Listed> entries) {
        long latest = olderThan == null
                ? Long.MAX_VALUE
                : Instant.now().minus(olderThan).toEpochMilli();
        return entries.stream()
                .filter(entry -> target == null || entry.namespace().startsWith(target))
                .filter(entry -> id == null || entry.hash().hex().startsWith(id))
                .filter(entry -> entry.lastUsedMillis() <= latest)
                .toList();
    }
}
