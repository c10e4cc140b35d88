package dev.granary.cli.entry;

import dev.granary.cache.Entry;
import dev.granary.cache.EntryCatalog;
import dev.granary.cache.EntryMetadata;
import dev.granary.cache.Id;
import dev.granary.cache.LoadResult;
import dev.granary.cli.output.BoundedEntryList;
import dev.granary.cli.place.Place;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/** Search for the stored entry of the same kernel whose key differs in the fewest values. */
final class NearestEntry {
    private static final String SOURCE = "source";
    private static final String SPIRV = "spirv";

    private NearestEntry() {}

    /**
     * Returns the entry among the most recently used ones of a tier. An entry is of the same kernel
     * if it has the same source or SPIR-V, or if the source of {@code id} names one of its kernels.
     * Of equally near ones, the most recently used is returned.
     *
     * @return empty if none is of the same kernel
     * @throws IOException if the tier cannot be listed
     */
    static Optional<Id> find(Place place, Id id) throws IOException {
        BoundedEntryList recent = new BoundedEntryList(
                Comparator.comparingLong(EntryCatalog.Listed::lastUsedMillis)
                        .reversed()
                        .thenComparing(listed -> listed.hash().hex()),
                place.maxSearched());
        place.catalog().list(recent);
        List<String> sources = sources(id);
        Optional<Id> nearest = Optional.empty();
        int least = Integer.MAX_VALUE;
        for (EntryCatalog.Listed listed : recent.sorted()) {
            try (Arena memory = Arena.ofConfined()) {
                if (place.catalog().read(listed, memory) instanceof LoadResult.Hit(Entry entry)
                        && !entry.id().equals(id)
                        && isOfSameKernel(entry, sources)) {
                    int distance = distance(KeyDifference.between(id, entry.id()));
                    nearest = distance < least ? Optional.of(entry.id()) : nearest;
                    least = Math.min(distance, least);
                }
            }
        }
        return nearest;
    }

    /**
     * Returns the number of values that differ. A different source adds 1, so that of otherwise
     * equally near entries one of the same source is nearer.
     */
    private static int distance(List<KeyDifference> differences) {
        return differences.stream()
                .mapToInt(each -> each.size() + (each.field().equals(SOURCE) ? 1 : 0))
                .sum();
    }

    private static boolean isOfSameKernel(Entry entry, List<String> sources) {
        if (sources.isEmpty()) {
            return false;
        }
        if (sources(entry.id()).equals(sources)) {
            return true;
        }
        List<String> kernels = entry.metadata().map(EntryMetadata::kernels).orElse(List.of());
        Pattern names = Pattern.compile(kernels.stream()
                .map(Pattern::quote)
                .collect(Collectors.joining("|", "\\b(", ")\\b")));
        return !kernels.isEmpty()
                && sources.stream().anyMatch(text -> names.matcher(text).find());
    }

    private static List<String> sources(Id id) {
        return id.fields().stream()
                .filter(field -> field.name().equals(SOURCE) || field.name().equals(SPIRV))
                .map(Id.Field::text)
                .toList();
    }
}
