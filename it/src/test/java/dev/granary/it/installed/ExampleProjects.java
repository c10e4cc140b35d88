package dev.granary.it.installed;

import dev.granary.testing.SystemTool;

import org.junit.jupiter.api.Assumptions;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

/**
 * The examples and the program with Level Zero alone, copied out of this tree and built against the
 * installed artifacts.
 */
final class ExampleProjects {
    /** The program that uses Level Zero and has no binding of OpenCL. */
    static final String LEVEL_ZERO = "level-zero";

    private static final String ALL = """
            <project>
              <modelVersion>4.0.0</modelVersion>
              <groupId>com.example</groupId><artifactId>all</artifactId><version>1.0</version>
              <packaging>pom</packaging>
              <modules><module>examples</module><module>examples/level-zero</module></modules>
            </project>
            """;

    private final Path home;
    private final LocalRepository repository;

    private ExampleProjects(Path home, LocalRepository repository) {
        this.home = home;
        this.repository = repository;
    }

    /** Builds the projects below {@code home}, with one call of Maven. */
    static ExampleProjects build(Path home) throws IOException, InterruptedException {
        Assumptions.assumeTrue(SystemTool.run("mvn", "--version"), "no mvn on the PATH");
        ExampleProjects projects = new ExampleProjects(home, LocalRepository.create(home));
        LocalRepository.copyTree(
                LocalRepository.TREE.resolve("examples"), home.resolve("examples"));
        LocalRepository.copyTree(
                LocalRepository.TREE.resolve("it/level-zero"), projects.project(LEVEL_ZERO));
        Files.writeString(home.resolve("pom.xml"), ALL);
        projects.repository.run(
                home,
                "package",
                "dependency:build-classpath",
                "-DskipTests",
                "-DincludeScope=compile",
                "-Dmdep.outputFile=target/compile-path", // of each project
                "-Dmdep.pathSeparator=;");
        return projects;
    }

    /** Returns the repository with the installed artifacts. */
    LocalRepository repository() {
        return repository;
    }

    /** Returns the directory of a project. */
    Path project(String name) {
        return home.resolve("examples").resolve(name);
    }

    /** Returns the jar of a project. */
    Path jar(String project) {
        return project(project).resolve("target").resolve(project + "-1.0.jar");
    }

    /** Returns the names of the artifacts with which Maven compiles a project. */
    List<String> compilePath(String project) throws IOException {
        String path = Files.readString(project(project).resolve("target/compile-path"));
        return Arrays.stream(path.split(";"))
                .map(Path::of)
                .map(jar -> jar.getName(jar.getNameCount() - 3).toString()) // ARTIFACT/VERSION/JAR
                .sorted()
                .toList();
    }

    /** Returns the directory with the libraries of a project. */
    Path libraries(String project) {
        return project(project).resolve("target/lib");
    }

    /** Returns the file names of the libraries of a project. */
    List<String> jarNames(String project) throws IOException {
        try (Stream<Path> files = Files.list(libraries(project))) {
            return files.map(file -> file.getFileName().toString()).sorted().toList();
        }
    }

    /**
     * The libraries of a project.
     *
     * @param jars their number
     * @param bytes the sum of their sizes
     */
    record Size(int jars, long bytes) {}

    /** Returns the size of the libraries that Granary brings to a project. */
    Size size(String project) throws IOException {
        int jars = 0;
        long bytes = 0;
        for (String name : jarNames(project)) {
            // the examples add a provider of SLF4J, which the command has itself
            if (project.equals("ci") || !name.startsWith("slf4j-simple")) {
                jars++;
                bytes += Files.size(libraries(project).resolve(name));
            }
        }
        return new Size(jars, bytes);
    }

    /** Returns the arguments that run the main class of a project on the module path. */
    String[] onModulePath(String project, String mainClass) {
        String module = mainClass.substring(0, mainClass.lastIndexOf('.'));
        return new String[] {
            "--module-path",
            jar(project) + ":" + libraries(project),
            "--module",
            module + "/" + mainClass
        };
    }

    /** Runs {@code java} with a local directory of this name. */
    InstalledProgram.Result run(String node, Map<String, String> more, String... arguments)
            throws IOException, InterruptedException {
        return run(InstalledProgram.java(arguments), node, more);
    }

    /**
     * Runs the commands of a pipeline in one shell, in the project {@code ci} and with a local
     * directory of this name.
     */
    InstalledProgram.Result runPipeline(String node, PipelineJob job, Map<String, String> more)
            throws IOException, InterruptedException {
        Path bin = LocalRepository.mavenWith(repository.arguments(), home.resolve("bin"));
        List<String> script = new ArrayList<>(List.of("set -e", "PATH=" + bin + ":$PATH"));
        script.addAll(job.commands());
        return run(
                InstalledProgram.of(List.of("/bin/bash", "-c", String.join("\n", script)))
                        .directory(project("ci"))
                        .variables(job.variables()),
                node,
                more);
    }

    private InstalledProgram.Result run(
            InstalledProgram program, String node, Map<String, String> more)
            throws IOException, InterruptedException {
        return program.variables(Map.of(
                        "GRANARY_DIR", home.resolve(node).toString(),
                        "POCL_CACHE_DIR", home.resolve("pocl-" + node).toString()))
                .variables(more)
                .run();
    }
}
