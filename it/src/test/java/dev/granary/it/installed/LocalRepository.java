package dev.granary.it.installed;

import dev.granary.testing.ChildJvm;

import org.junit.jupiter.api.Assumptions;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * A Maven repository of its own with the artifacts of this build, as {@code install} leaves them.
 * Others come from the repository of the machine, which keeps builds off the network.
 */
final class LocalRepository {
    /** The source tree. */
    static final Path TREE = Path.of("..").toAbsolutePath().normalize();

    /** The modules that are published, except the parent. */
    static final List<String> PUBLISHED = List.of(
            "bom",
            "cache-api",
            "storage-local",
            "storage-s3",
            "client-aws",
            "client-minio",
            "gpu",
            "opencl-lwjgl",
            "coordinator",
            "plans",
            "wrap",
            "metrics-micrometer",
            "cli");

    private static final Pattern PARENT = Pattern.compile("(?s)<parent>.*?</parent>");
    private static final Pattern ARTIFACT = Pattern.compile("<artifactId>([^<]+)</artifactId>");
    private static final Pattern VERSION = Pattern.compile("<version>([^<]+)</version>");

    private final Path directory;
    private final Path settings;

    private LocalRepository(Path directory, Path settings) {
        this.directory = directory;
        this.settings = settings;
    }

    /** Creates a repository below {@code home}. */
    static LocalRepository create(Path home) throws IOException {
        LocalRepository repository =
                new LocalRepository(home.resolve("repository"), settings(home));
        repository.install(TREE);
        for (String module : PUBLISHED) {
            repository.install(TREE.resolve(module));
        }
        return repository;
    }

    /** Returns the version of this build. */
    static String version() throws IOException {
        return first(VERSION, Files.readString(TREE.resolve("pom.xml")));
    }

    /** Returns the name of the artifact of a module. */
    static String artifact(Path module) throws IOException {
        return first(
                ARTIFACT,
                PARENT.matcher(Files.readString(module.resolve("pom.xml"))).replaceFirst(""));
    }

    private void install(Path module) throws IOException {
        String name = artifact(module) + "-" + version();
        Path to = Files.createDirectories(
                directory.resolve("dev/granary").resolve(artifact(module)).resolve(version()));
        Files.copy(module.resolve("pom.xml"), to.resolve(name + ".pom"));
        if (!Files.isDirectory(module.resolve("src"))) {
            return; // a pom only
        }
        Path target = module.resolve("target");
        Assumptions.assumeTrue(
                Files.exists(target.resolve(name + ".jar")),
                "the modules are not packaged: only Maven's verify makes jars");
        for (String suffix : List.of(".jar", "-tests.jar")) {
            if (Files.exists(target.resolve(name + suffix))) {
                Files.copy(target.resolve(name + suffix), to.resolve(name + suffix));
            }
        }
    }

    /** Returns the arguments that make Maven use this repository. */
    List<String> arguments() {
        return List.of(
                "-q", "-B", "-ntp", "-gs", settings.toString(), "-Dmaven.repo.local=" + directory);
    }

    /** Runs Maven in {@code project}. */
    void run(Path project, String... arguments) throws IOException, InterruptedException {
        List<String> command = new ArrayList<>(List.of("mvn"));
        command.addAll(arguments());
        command.addAll(List.of(arguments));
        InstalledProgram.Result result =
                InstalledProgram.of(command).directory(project).run();
        if (result.exitCode() != 0) {
            throw new AssertionError(command + " failed: " + result);
        }
    }

    /** Returns the repository that the class path of the tests comes from. */
    private static Path machine() {
        Path jar = ChildJvm.classPath().stream()
                .filter(part -> String.valueOf(part.getFileName()).startsWith("slf4j-api-"))
                .findFirst()
                .orElseThrow();
        Path group = jar.resolve("../../../../..").normalize(); // org/slf4j/slf4j-api/VERSION/JAR
        Assumptions.assumeTrue(
                Files.isDirectory(group.resolve("org/slf4j")),
                "the class path of the tests is not that of Maven");
        return group;
    }

    /** Writes settings that take artifacts from the repository of the machine, if it has them. */
    static Path settings(Path home) throws IOException {
        String repository = "<id>machine</id><url>" + machine().toUri() + "</url>"
                + "<releases><checksumPolicy>ignore</checksumPolicy></releases>"
                + "<snapshots><enabled>false</enabled></snapshots>";
        return Files.writeString(
                home.resolve("settings.xml"), """
                <settings>
                  <profiles><profile>
                    <id>machine</id>
                    <repositories><repository>%s</repository></repositories>
                    <pluginRepositories><pluginRepository>%s</pluginRepository></pluginRepositories>
                  </profile></profiles>
                  <activeProfiles><activeProfile>machine</activeProfile></activeProfiles>
                </settings>
                """.formatted(repository, repository));
    }

    /** Copies the source tree, without build output and history, into a new directory. */
    static Path copySources(Path to) throws IOException, InterruptedException {
        Path copy = Files.createDirectories(to);
        String command = "tar -c --exclude=target --exclude=.git --exclude=.fast . | tar -x -C '"
                + copy + "'";
        InstalledProgram.Result result = InstalledProgram.of(
                        List.of("/bin/bash", "-o", "pipefail", "-c", command))
                .directory(TREE)
                .run();
        if (result.exitCode() != 0) {
            throw new AssertionError(command + " failed: " + result);
        }
        return copy;
    }

    /**
     * Writes a script {@code mvn} that calls the machine's Maven with more arguments.
     *
     * @return its directory, to be the first one of {@code PATH}
     */
    static Path mavenWith(List<String> arguments, Path directory) throws IOException {
        Path bin = Files.createDirectories(directory);
        Path script = Files.writeString(
                bin.resolve("mvn"),
                "#!/bin/sh\nPATH=${PATH#*:}\nexec mvn "
                        + arguments.stream()
                                .map(argument -> "'" + argument + "'")
                                .collect(Collectors.joining(" "))
                        + " \"$@\"\n");
        if (!script.toFile().setExecutable(true)) {
            throw new IOException("not executable: " + script);
        }
        return bin;
    }

    /** Copies a directory without build output. */
    static void copyTree(Path from, Path to) throws IOException {
        try (Stream<Path> files = Files.walk(from)) {
            for (Path file : files.toList()) {
                Path relative = from.relativize(file);
                if (!relative.toString().contains("target")) {
                    Files.copy(file, to.resolve(relative.toString()));
                }
            }
        }
    }

    private static String first(Pattern pattern, String text) {
        Matcher matcher = pattern.matcher(text);
        if (!matcher.find()) {
            throw new AssertionError("no " + pattern);
        }
        return matcher.group(1);
    }
}
