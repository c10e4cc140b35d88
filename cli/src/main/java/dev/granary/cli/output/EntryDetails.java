package dev.granary.cli.output;

import dev.granary.cache.Entry;
import dev.granary.cache.EntryCatalog;
import dev.granary.cache.EntryMetadata;
import dev.granary.cache.LoadResult;
import dev.granary.cli.place.EntryVerifier;
import dev.granary.cli.place.Place;

import java.lang.foreign.Arena;
import java.time.Duration;
import java.util.List;

/**
 * The details of an entry that only reading it provides.
 *
 * @param compileTime the compile time; zero if the entry could not be read or is damaged
 * @param kernels the names of the kernels
 * @param damage the kind of damage, or {@code gone} or {@code unreadable} if the entry could not be
 *     read; empty text if it is sound
 */
public record EntryDetails(Duration compileTime, List<String> kernels, String damage) {
    public static final EntryDetails NONE = new EntryDetails(Duration.ZERO, List.of(), "");

    public static EntryDetails read(Place inventory, EntryCatalog.Listed listed) {
        try (Arena memory = Arena.ofConfined()) {
            return switch (inventory.read(listed, memory)) {
                case LoadResult.Hit(Entry entry) ->
                    new EntryDetails(
                            entry.compileTime(),
                            entry.metadata().map(EntryMetadata::kernels).orElse(List.of()),
                            "");
                case LoadResult.Damaged damaged ->
                    new EntryDetails(
                            Duration.ZERO, List.of(), EntryVerifier.name(damaged.damage()));
                case LoadResult.Absent _ -> new EntryDetails(Duration.ZERO, List.of(), "gone");
                case LoadResult.Unavailable _ ->
                    new EntryDetails(Duration.ZERO, List.of(), "unreadable");
            };
        }
    }
}
