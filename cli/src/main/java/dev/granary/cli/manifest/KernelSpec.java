package dev.granary.cli.manifest;

import dev.granary.cache.Backend;
import dev.granary.coordinator.recording.RecordedId;
import dev.granary.gpu.Launch;

import java.nio.file.Path;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Optional;
import java.util.SequencedMap;
import java.util.SequencedSet;

/**
 * One kernel program of a manifest.
 *
 * @param name the name in results; unique in its manifest
 * @param place the file and line of its table
 * @param sources the source files, which are compiled as one program, in order; at least one
 * @param includeDirectories the directories to search for included files, in order, after the
 *     including file's own
 * @param options build options, as tokens
 * @param entries the kernels that must exist; empty for all
 * @param launches the launches that it will be used with, as far as they are known
 * @param tag a text that enters the id; empty for none
 * @param extraDigest a digest of inputs that the key cannot cover; empty for none
 * @param recorded the inputs of a recorded kernel, with a list of its headers; empty if headers are
 *     searched
 */
public record KernelSpec(
        String name,
        String place,
        List<Path> sources,
        List<Path> includeDirectories,
        List<String> options,
        List<String> entries,
        List<Launch> launches,
        String tag,
        String extraDigest,
        Optional<RecordedInputs> recorded) {
    public KernelSpec {
        sources = List.copyOf(sources);
        includeDirectories = List.copyOf(includeDirectories);
        options = List.copyOf(options);
        entries = List.copyOf(entries);
        launches = List.copyOf(launches);
    }

    /** Returns the ids of a recorded kernel; none if it was not recorded. */
    public List<RecordedId> recordedIds() {
        return recorded.map(RecordedInputs::ids).orElse(List.of());
    }

    /**
     * Returns whether engines of a backend compile it: not if it was recorded for other engines
     * only. What runs on one of Granary's engines may run on the other.
     */
    public boolean isFor(Backend backend) {
        return recordedIds().isEmpty()
                || recordedIds().stream()
                        .map(id -> id.target().backend())
                        .anyMatch(producer -> producer.equals(backend)
                                || (Backend.OWN.contains(producer)
                                        && Backend.OWN.contains(backend)));
    }

    /** Returns this program with another name and recorded inputs. */
    KernelSpec with(String newName, Optional<RecordedInputs> newRecorded) {
        return new KernelSpec(
                newName,
                place,
                sources,
                includeDirectories,
                options,
                entries,
                launches,
                tag,
                extraDigest,
                newRecorded);
    }

    /**
     * The inputs that only a recorded kernel has. Its headers are listed and nothing is searched,
     * so that its descriptor is exactly the one that code had.
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

        public RecordedInputs {
            headers = Collections.unmodifiableSequencedMap(new LinkedHashMap<>(headers));
            includeDirectories = List.copyOf(includeDirectories);
            ids = List.copyOf(ids);
        }

        /** Returns these inputs with further ids. */
        RecordedInputs withIds(List<RecordedId> further) {
            SequencedSet<RecordedId> all = new LinkedHashSet<>(ids);
            all.addAll(further);
            return new RecordedInputs(
                    headers, includeDirectories, isEveryFileListed, List.copyOf(all));
        }
    }
}
