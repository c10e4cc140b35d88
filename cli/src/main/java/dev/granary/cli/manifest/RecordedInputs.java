package dev.granary.cli.manifest;

import dev.granary.coordinator.recording.RecordedId;

import java.nio.file.Path;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.SequencedMap;
import java.util.SequencedSet;

/**
 * The inputs that only a recorded kernel has. Its headers are listed and nothing is searched, so
 * that its descriptor is exactly the one that code had.
 *
 * @param headers the files of all headers, by their path relative to the source
 * @param includeDirectories the directories that the compiler searches, relative to the source
 * @param isEveryFileListed whether the headers are all files of these directories
 * @param ids the ids for the targets that it was recorded for; may be empty
 */
public record RecordedInputs(
        SequencedMap<String, Path> headers,
        List<String> includeDirectories,
        boolean isEveryFileListed,
        List<RecordedId> ids) {
    /** The key that a table of a recorded kernel has. */
    static final String MARK = "target";

    /** Copies the map and the lists. */
    public RecordedInputs {
        headers = Collections.unmodifiableSequencedMap(new LinkedHashMap<>(headers));
        includeDirectories = List.copyOf(includeDirectories);
        ids = List.copyOf(ids);
    }

    /** Returns these inputs with further ids. */
    RecordedInputs withIds(List<RecordedId> further) {
        SequencedSet<RecordedId> all = new LinkedHashSet<>(ids);
        all.addAll(further);
        return new RecordedInputs(headers, includeDirectories, isEveryFileListed, List.copyOf(all));
    }
}
