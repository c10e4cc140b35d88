package dev.granary.gpu.opencl;

import dev.granary.gpu.BuildOptions;
import dev.granary.gpu.KernelDescriptor;
import java.io.IOException;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A private temporary directory with the headers of one build: what was hashed is what is compiled, whatever happens to the original files
 * meanwhile. Closing removes it.
 */
final class HeaderDirectory implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(HeaderDirectory.class);

    /** The source's place lies this deep, so that places that begin with {@code ../} stay inside. */
    private static final int DEPTH = 8;

    private final Path top;
    private final Path root;
    private final List<Path> directories = new ArrayList<>();

    /**
     * Writes the headers.
     *
     * @param parent where the temporary directory is made
     * @throws IOException if the temporary directory cannot be written, or a name leads out of it
     */
    HeaderDirectory(KernelDescriptor descriptor, Path parent) throws IOException {
        top = Files.createTempDirectory(parent, "granary-headers-").toRealPath();
        Path deep = top;
        for (int i = 0; i < DEPTH; i++) {
            deep = deep.resolve("i");
        }
        root = deep;
        directories.add(root);
        try {
            Files.createDirectories(root);
            for (String place : descriptor.includeDirectories()) {
                directories.add(Files.createDirectories(inside(place)));
            }
            for (Map.Entry<String, String> header : descriptor.headers().entrySet()) {
                Path file = inside(header.getKey());
                Files.createDirectories(file.getParent());
                Files.writeString(file, header.getValue());
            }
        } catch (IOException | RuntimeException e) {
            close();
            throw e;
        }
    }

    /** The options that make the compiler look here, the source's own directory first. */
    String options() {
        return BuildOptions.format(directories.stream().map(directory -> "-I" + directory).toList());
    }

    /** Removes the directory. What cannot be removed is logged: it must not fail a build that worked. */
    @Override
    public void close() {
        try {
            Files.walkFileTree(top, new SimpleFileVisitor<>() {
                @Override
                public FileVisitResult visitFile(Path file, BasicFileAttributes attributes) throws IOException {
                    Files.delete(file);
                    return FileVisitResult.CONTINUE;
                }

                @Override
                public FileVisitResult postVisitDirectory(Path directory, @Nullable IOException failure) throws IOException {
                    Files.delete(directory);
                    return FileVisitResult.CONTINUE;
                }
            });
        } catch (IOException e) {
            LOG.warn("The temporary directory {} could not be removed, please do so: {}", top, e.toString());
        }
    }

    private Path inside(String place) throws IOException {
        Path path;
        try {
            path = root.resolve(place).normalize();
        } catch (InvalidPathException e) {
            throw new IOException("the place " + place + " cannot be a file here: " + e.getReason(), e);
        }
        if (!path.startsWith(top) || path.equals(top)) {
            throw new IOException("the place " + place + " leads out of the directory of headers");
        }
        return path;
    }
}
