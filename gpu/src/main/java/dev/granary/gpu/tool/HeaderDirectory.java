package dev.granary.gpu.tool;

import dev.granary.cache.support.FileTrees;
import dev.granary.gpu.KernelDescriptor;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * A private temporary directory with the headers of one build, and its source for compilers that
 * read files, removed when closed. The compiler reads exactly the hashed content, even if the
 * original files change.
 */
public final class HeaderDirectory implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(HeaderDirectory.class);

    /** Depth of the source's directory, so that paths that begin with {@code ../} stay inside. */
    private static final int DEPTH = 8;

    private final KernelDescriptor descriptor;
    private final Path top;
    private final Path root;
    private final List<Path> directories = new ArrayList<>();

    /**
     * Writes the headers.
     *
     * @param parent the parent of the temporary directory
     * @throws IOException if the temporary directory cannot be written, or a header path is outside
     *     of it
     */
    public HeaderDirectory(KernelDescriptor descriptor, Path parent) throws IOException {
        this.descriptor = descriptor;
        top = Files.createTempDirectory(parent, "granary-headers-").toRealPath();
        Path deep = top;
        for (int i = 0; i < DEPTH; i++) {
            deep = deep.resolve("i");
        }
        root = deep;
        directories.add(root);
        try {
            Files.createDirectories(root);
            for (String directory : descriptor.includeDirectories()) {
                directories.add(Files.createDirectories(resolve(directory)));
            }
            for (Map.Entry<String, String> header : descriptor.headers().entrySet()) {
                Path file = resolve(header.getKey());
                Files.createDirectories(file.getParent());
                Files.writeString(file, header.getValue());
            }
        } catch (IOException | RuntimeException e) {
            close();
            throw e;
        }
    }

    /**
     * Returns the {@code -I} options for this directory, the source's own directory first; none if
     * the program has no headers.
     */
    public List<String> options() {
        return descriptor.headers().isEmpty()
                ? List.of()
                : directories.stream().map(directory -> "-I" + directory).toList();
    }

    /** Returns a directory for the output of compilers, by its absolute path. */
    public Path directory() {
        return top;
    }

    /** Writes the sources of the program to one file, and returns it. */
    public Path source() throws IOException {
        return Files.writeString(top.resolve("program.cl"), String.join("", descriptor.sources()));
    }

    /** Removes the directory. A failure is logged, since it must not fail a successful build. */
    @Override
    public void close() {
        try {
            FileTrees.delete(top);
        } catch (IOException e) {
            LOG.warn(
                    "The temporary directory {} could not be removed; please remove it: {}",
                    top,
                    e.toString());
        }
    }

    private Path resolve(String path) throws IOException {
        Path resolved;
        try {
            resolved = root.resolve(path).normalize();
        } catch (InvalidPathException e) {
            throw new IOException("the path " + path + " is not valid here: " + e.getReason(), e);
        }
        if (!resolved.startsWith(top) || resolved.equals(top)) {
            throw new IOException("the path " + path + " is outside of the directory of headers");
        }
        return resolved;
    }
}
