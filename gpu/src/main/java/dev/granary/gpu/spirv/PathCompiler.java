package dev.granary.gpu.spirv;

import dev.granary.cache.CompileException;
import dev.granary.gpu.KernelDescriptor;
import dev.granary.gpu.tool.HeaderDirectory;
import dev.granary.gpu.tool.SpirvTool;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.regex.Pattern;

/**
 * The compiler to SPIR-V among the programs of a search path. Each compile has a temporary
 * directory of its own. Thread-safe.
 *
 * @param searchPath the directories of programs, as in the environment variable {@code PATH}
 * @param temporary the parent of the temporary directories
 */
record PathCompiler(String searchPath, Path temporary) implements SpirvCompiler {
    private static final Logger LOG = LoggerFactory.getLogger(PathCompiler.class);
    private static final Pattern IDENTITY = Pattern.compile("[ -~]{1,200}");

    // the query of a version takes as long as a small compile
    private static final Map<Installation, Presence> IDENTITIES = new ConcurrentHashMap<>();

    /** A tool as it was installed: an update while the process runs is another one. */
    private record Installation(SpirvTool tool, List<FileTime> times) {}

    @Override
    public byte[] compile(KernelDescriptor descriptor) throws CompileException {
        SpirvTool tool = SpirvTool.find(searchPath)
                .orElseThrow(() -> new CompileException(
                        descriptor.name() + " does not compile: " + SpirvCompiler.REMEDY, ""));
        try (HeaderDirectory files = new HeaderDirectory(descriptor, temporary)) {
            List<String> options = new ArrayList<>(files.options());
            descriptor.optionTokens().stream()
                    .filter(option -> !SpirvCompiler.isForDriver(option))
                    .forEach(options::add);
            return tool.compile(descriptor, files.source(), files.directory(), options);
        } catch (IOException e) {
            throw new CompileException(
                    descriptor.name() + " does not compile: " + tool + ": " + e.getMessage(), "");
        }
    }

    @Override
    public Presence presence() {
        Optional<SpirvTool> tool = SpirvTool.find(searchPath);
        if (tool.isEmpty()) {
            return new Presence.Absent();
        }
        try {
            Installation installation = new Installation(tool.get(), times(tool.get()));
            Presence known = IDENTITIES.get(installation);
            if (known == null) {
                known = identify(tool.get());
                IDENTITIES.put(installation, known);
            }
            return known;
        } catch (IOException e) {
            return new Presence.Unidentified(); // removed meanwhile
        }
    }

    private static List<FileTime> times(SpirvTool tool) throws IOException {
        List<FileTime> times = new ArrayList<>();
        for (Path program : tool.programs()) {
            times.add(Files.getLastModifiedTime(program));
        }
        return times;
    }

    private Presence identify(SpirvTool tool) {
        try {
            String identity = tool.identity(temporary);
            if (IDENTITY.matcher(identity).matches()) {
                return new Presence.Installed(identity);
            }
            LOG.warn("The version of {} is not a line of text; its SPIR-V is not stored", tool);
        } catch (IOException e) {
            LOG.warn(
                    "The version of {} cannot be read; its SPIR-V is not stored: {}",
                    tool,
                    e.getMessage());
        }
        return new Presence.Unidentified();
    }
}
