package dev.granary.gpu.spirv;

import dev.granary.cache.CompileException;
import dev.granary.cache.support.FileTrees;
import dev.granary.gpu.BuildOptions;
import dev.granary.gpu.KernelDescriptor;
import dev.granary.gpu.source.HeaderDirectory;

import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * The compiler to SPIR-V among the programs of a search path. Each compile has a temporary
 * directory of its own. Thread-safe.
 *
 * @param searchPath the directories of programs, as in the environment variable {@code PATH}
 * @param temporary the parent of the temporary directories
 */
record PathCompiler(String searchPath, Path temporary) implements SpirvCompiler {
    private static final Logger LOG = LoggerFactory.getLogger(PathCompiler.class);

    @Override
    public byte[] compile(KernelDescriptor descriptor) throws CompileException {
        SpirvTool tool = SpirvTool.find(searchPath)
                .orElseThrow(() -> new CompileException(
                        descriptor.name() + " does not compile: no compiler from OpenCL C to SPIR-V"
                                + " is on the PATH; install one, on Debian: apt-get install"
                                + " intel-opencl-icd (it has ocloc; intel-ocloc from Debian 13 on),"
                                + " or apt-get install clang-14 llvm-spirv-14 (or another version"
                                + " of both)",
                        ""));
        Path directory = null;
        try (HeaderDirectory headers = new HeaderDirectory(descriptor, temporary)) {
            directory = Files.createTempDirectory(temporary, "granary-spirv-").toAbsolutePath();
            Files.writeString(
                    directory.resolve(SpirvTool.SOURCE), String.join("", descriptor.sources()));
            List<String> options = new ArrayList<>(
                    descriptor.headers().isEmpty()
                            ? List.of()
                            : BuildOptions.parse(headers.options()));
            descriptor.optionTokens().stream()
                    .filter(option -> !SpirvCompiler.isForDriver(option))
                    .forEach(options::add);
            return tool.compile(descriptor, directory, options);
        } catch (IOException e) {
            throw new CompileException(
                    descriptor.name() + " does not compile: " + tool + ": " + e.getMessage(), "");
        } finally {
            delete(directory);
        }
    }

    private static void delete(@Nullable Path directory) {
        try {
            if (directory != null) {
                FileTrees.delete(directory);
            }
        } catch (IOException e) {
            LOG.warn(
                    "The temporary directory {} could not be removed; please remove it: {}",
                    directory,
                    e.toString());
        }
    }
}
