package dev.granary.gpu.opencl;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * A private temporary directory with the headers of one build: what was hashed is what is compiled, whatever happens to the original files
 * meanwhile. Closing removes it.
 */
final class HeaderDirectory implements AutoCloseable {
    /** The include root lies this deep, so that names that begin with {@code ../} stay inside. */
    private static final int DEPTH = 8;

    private final Path top;
    private final Path root;

    /**
     * Writes the headers.
     *
     * @throws IOException if the temporary directory cannot be written, or a name leads out of it
     */
    HeaderDirectory(Map<String, String> headers) throws IOException {
        top = Files.createTempDirectory("granary-headers-").toRealPath();
        Path deep = top;
        for (int i = 0; i < DEPTH; i++) {
            deep = deep.resolve("i");
        }
        root = deep;
        try {
            Files.createDirectories(root);
            for (Map.Entry<String, String> header : headers.entrySet()) {
                write(header.getKey(), header.getValue());
            }
        } catch (IOException e) {
            close();
            throw e;
        }
    }

    /** The directory to be named with {@code -I}. */
    Path root() {
        return root;
    }

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
            throw new UncheckedIOException("The temporary directory " + top + " could not be removed", e);
        }
    }

    private void write(String name, String text) throws IOException {
        Path file = root.resolve(name).normalize();
        if (!file.startsWith(top) || file.equals(top)) {
            throw new IOException("The header name " + name + " leads out of the include directory");
        }
        Files.createDirectories(file.getParent());
        Files.writeString(file, text);
    }
}
