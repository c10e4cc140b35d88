package dev.granary.gpu.tool;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import dev.granary.cache.support.FileTrees;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;

/** The query of {@code ocloc} for the version of the driver that it was built with. */
public final class OclocQuery {
    private static final String VERSION_QUERY = "OCL_DRIVER_VERSION";
    private static final Duration LIMIT = Duration.ofMinutes(1);

    private OclocQuery() {}

    /** Returns the identity of the front end in an {@code ocloc} of that version. */
    public static String identity(String version) {
        return "ocloc " + version;
    }

    /**
     * Returns the version, such as {@code 22.43.24595.41}, or another text that the program prints.
     *
     * @param temporary the parent of a temporary directory, in which the program leaves its answer
     * @throws IOException if the program cannot be run
     */
    public static String version(Path program, Path temporary) throws IOException {
        Path directory = Files.createTempDirectory(temporary, "granary-ocloc-").toAbsolutePath();
        try {
            ToolRun run = ToolRun.of(
                    List.of(program.toString(), "query", VERSION_QUERY), directory, LIMIT);
            Path answer = directory.resolve(VERSION_QUERY);
            return Files.exists(answer)
                    ? Files.readString(answer, ISO_8859_1).replace("\0", "").strip()
                    : run.output();
        } finally {
            FileTrees.delete(directory);
        }
    }
}
