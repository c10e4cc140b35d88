package dev.granary.wrap;

import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.SortedMap;

/**
 * What one run of a program has fetched and published.
 *
 * @param exitCode the exit code of the program; 128 and the number of the signal that ended it
 * @param tools the result for each tool
 * @param failures the causes for which layers were not used, by layer
 */
public record WrapResult(int exitCode, List<ToolResult> tools, SortedMap<String, String> failures) {
    /**
     * The result for one tool. All numbers are numbers of files.
     *
     * @param directory the directory of the tool
     * @param namespace the namespace of the scope, such as {@code files/pocl_...}
     * @param fetched the files that were fetched before the start
     * @param fetchedBytes their length
     * @param opened how many of them the program has read; empty if none were fetched, or the file
     *     system does not record reads
     * @param written the files that the program has added
     * @param published how many of them are in a layer now
     * @param skipped the files that were not installed or not published, by cause
     */
    public record ToolResult(
            String tool,
            Path directory,
            String namespace,
            int fetched,
            long fetchedBytes,
            Optional<Integer> opened,
            int written,
            int published,
            SortedMap<String, Integer> skipped) {}
}
