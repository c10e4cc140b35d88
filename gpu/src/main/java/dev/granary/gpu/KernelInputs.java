package dev.granary.gpu;

import dev.granary.cache.Target;

import java.util.List;
import java.util.NavigableMap;
import java.util.Optional;
import java.util.SortedSet;

/**
 * The inputs of a compile in their normal form. Two descriptors are equal if their inputs are.
 * Immutable.
 *
 * @param sources the source texts; none beside SPIR-V
 * @param spirv the module in place of sources
 * @param launches the announced launches; none if the driver does not compile at launch
 * @param areFilesListed true if the headers include all files of the directories
 */
record KernelInputs(
        Target target,
        List<String> sources,
        Optional<SpirvModule> spirv,
        NavigableMap<String, String> headers,
        List<String> includeDirectories,
        List<String> options,
        SortedSet<String> entries,
        SortedSet<Launch> launches,
        boolean areFilesListed,
        String extraDigest,
        String tag,
        CompilerEnvironment environment) {
    /**
     * Checks that there is one program.
     *
     * @param kernel the name of the descriptor, for messages
     * @throws IllegalArgumentException if there is neither source nor SPIR-V, or if inputs of a
     *     preprocessor are beside SPIR-V
     */
    void check(String kernel) {
        if (spirv.isEmpty()) {
            if (sources.stream().allMatch(String::isBlank)) {
                throw new IllegalArgumentException("The kernel " + kernel + " has no source");
            }
            return;
        }
        if (!sources.isEmpty()
                || !headers.isEmpty()
                || !includeDirectories.isEmpty()
                || areFilesListed) {
            throw new IllegalArgumentException("The kernel " + kernel
                    + " has SPIR-V, and sources, headers or include directories beside it: remove"
                    + " one of them");
        }
        options.stream().filter(BuildOptions::isForPreprocessor).findFirst().ifPresent(option -> {
            throw new IllegalArgumentException("The kernel " + kernel + " has SPIR-V, for"
                    + " which no preprocessor runs: remove the option " + option);
        });
    }
}
