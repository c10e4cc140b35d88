package dev.granary.it;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.granary.cache.support.FileTrees;
import dev.granary.cli.Main;
import dev.granary.s3.contract.TestS3;
import dev.granary.testing.ChildJvm;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Archive of the classes of {@code granary get}, an ahead-of-time cache of the JVM, with which the
 * processes of the tests start in less processor time. It is a file for the jars of one build,
 * which the JVMs of the tests share.
 */
public final class ClassArchive {
    private static final Path DIRECTORY = Path.of("target").toAbsolutePath();
    private static final String PREFIX = "classes-";
    private static final String SUFFIX = ".aot";

    private ClassArchive() {}

    /**
     * Returns the archive. The first call for a build makes it, which takes two starts of the
     * command. Calls of other processes meanwhile return none, and so do all calls if the JVM has
     * no archives, or the command is not in a jar.
     */
    public static synchronized Optional<Path> file() throws IOException, InterruptedException {
        if (!isJar(Main.class)) {
            return Optional.empty(); // an archive has no classes of directories
        }
        Path file = DIRECTORY.resolve(PREFIX + build() + SUFFIX);
        if (Files.exists(file)) {
            return Optional.of(file).filter(archive -> archive.toFile().length() > 0);
        }
        try (FileChannel guard = FileChannel.open(
                        Files.createDirectories(DIRECTORY).resolve(PREFIX + "lock"),
                        StandardOpenOption.CREATE,
                        StandardOpenOption.WRITE);
                FileLock lock = guard.tryLock()) {
            if (lock == null) {
                return Optional.empty();
            }
            if (Files.notExists(file)) {
                deleteOthers();
                make(file);
            }
            return Optional.of(file).filter(archive -> archive.toFile().length() > 0);
        }
    }

    private static boolean isJar(Class<?> type) {
        return type.getProtectionDomain()
                .getCodeSource()
                .getLocation()
                .getPath()
                .endsWith(".jar");
    }

    private static void make(Path file) throws IOException, InterruptedException {
        Path machine = Files.createTempDirectory(DIRECTORY, "training-");
        Path unfinished = machine.resolve("unfinished" + SUFFIX);
        Map<String, String> variables = new HashMap<>(TestS3.server().environment());
        variables.put("GRANARY_DIR", machine.resolve("granary").toString());
        try {
            GranaryProcess.environment(ChildJvm.of(Main.class), machine, variables)
                    .archiveTo(unfinished)
                    .run("get", TestManifests.manifest())
                    .output();
            if (Files.notExists(unfinished)) {
                Files.createFile(unfinished); // a JVM without archives: not tried again
            }
            Files.move(unfinished, file, StandardCopyOption.ATOMIC_MOVE);
        } finally {
            FileTrees.delete(machine);
        }
    }

    private static void deleteOthers() throws IOException {
        try (Stream<Path> files = Files.list(DIRECTORY)) {
            for (Path file : (Iterable<Path>) files::iterator) {
                String name = String.valueOf(file.getFileName());
                if (name.startsWith(PREFIX) && name.endsWith(SUFFIX)) {
                    Files.delete(file);
                }
            }
        }
    }

    /** Returns a name for the JVM and the jars: the JVM refuses an archive of any other ones. */
    private static String build() {
        String parts = ChildJvm.classPath().stream()
                .filter(Files::isRegularFile)
                .map(ClassArchive::version)
                .collect(Collectors.joining("\n", Runtime.version() + "\n", ""));
        return UUID.nameUUIDFromBytes(parts.getBytes(UTF_8)).toString();
    }

    private static String version(Path jar) {
        try {
            return String.join(
                    " ",
                    List.of(
                            jar.toString(),
                            Long.toString(Files.size(jar)),
                            Files.getLastModifiedTime(jar).toString()));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
