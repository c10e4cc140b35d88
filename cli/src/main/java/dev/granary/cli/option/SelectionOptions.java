package dev.granary.cli.option;

import dev.granary.cache.EntryCatalog;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/** The options that choose entries: those that all given ones fit; without any, all entries. */
public final class SelectionOptions {
    @Option(names = "--target", paramLabel = "PREFIX", description = "only entries whose target, as ls shows it, begins so: opencl/nvidia")
    private @Nullable String target;

    @Option(names = "--older-than", paramLabel = "AGE", description = "only entries not used for that long: 30d, 12h, 45m")
    private @Nullable String olderThan;

    @Option(names = "--id", paramLabel = "PREFIX", description = "only entries whose ids begin with these digits")
    private @Nullable String id;

    /** True where something was chosen. */
    public boolean isGiven() {
        return target != null || olderThan != null || id != null;
    }

    /** Refuses options that mean nothing, before anything is opened. */
    public void check() throws UsageException {
        from(List.of(), Instant.EPOCH);
    }

    /** The chosen ones of {@code entries}, in their order. */
    public List<EntryCatalog.Listed> from(List<EntryCatalog.Listed> entries, Instant now) throws UsageException {
        return entries.stream().filter(chosen(now)).toList();
    }

    /** Tells whether an entry is chosen. */
    public Predicate<EntryCatalog.Listed> chosen(Instant now) throws UsageException {
        String prefix = target == null ? "" : target;
        String digits = id == null ? "" : IdPrefixConverter.parse(id);
        Duration age = olderThan == null ? null : AgeConverter.parse(olderThan, "--older-than");
        long latest = age == null ? Long.MAX_VALUE : now.minus(age).toEpochMilli();
        return entry -> entry.namespace().startsWith(prefix) && (digits.isEmpty() || entry.beginsWith(digits)) && entry.lastUsedMillis() <= latest;
    }
}
