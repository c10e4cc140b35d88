package dev.granary.cli.option;

import dev.granary.cache.EntryCatalog;

import org.jspecify.annotations.Nullable;

import picocli.CommandLine.Option;

import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.function.Predicate;

/**
 * The options that select entries: those that match all given options, or all entries if none is
 * given.
 */
public final class SelectionOptions {
    @Option(
            names = "--target",
            paramLabel = "PREFIX",
            description =
                    "only entries whose target, as ls shows it, begins with PREFIX: opencl/nvidia")
    private @Nullable String target;

    @Option(
            names = "--older-than",
            paramLabel = "AGE",
            description = "only entries not used for that long: 30d, 12h, 45m")
    private @Nullable String olderThan;

    @Option(
            names = "--id",
            paramLabel = "PREFIX",
            description = "only entries whose ids begin with these digits")
    private @Nullable String id;

    /** Returns true if at least one option was given. */
    public boolean isGiven() {
        return target != null || olderThan != null || id != null;
    }

    /** Rejects invalid options before anything is opened. */
    public void check() throws UsageException {
        from(List.of(), Instant.EPOCH);
    }

    /** Returns the selected ones of {@code entries}, in their order. */
    public List<EntryCatalog.Listed> from(List<EntryCatalog.Listed> entries, Instant now)
            throws UsageException {
        return entries.stream().filter(predicate(now)).toList();
    }

    /** Returns the predicate that is true for selected entries. */
    public Predicate<EntryCatalog.Listed> predicate(Instant now) throws UsageException {
        String prefix = target == null ? "" : target;
        String digits = id == null ? "" : IdPrefixConverter.parse(id);
        Duration age = olderThan == null ? null : AgeConverter.parse(olderThan, "--older-than");
        long latest = age == null ? Long.MAX_VALUE : now.minus(age).toEpochMilli();
        return entry -> entry.namespace().startsWith(prefix)
                && (digits.isEmpty() || entry.hash().hex().startsWith(digits))
                && entry.lastUsedMillis() <= latest;
    }
}
