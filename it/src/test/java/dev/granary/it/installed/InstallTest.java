package dev.granary.it.installed;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.cache.Sha256;
import dev.granary.testing.SystemTool;

import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/** Tests of the artifacts that {@code ./granary mvn install} makes, and of the bom. */
class InstallTest {
    private static final Pattern MANAGED = Pattern.compile(
            "(?s)<dependency>\\s*<groupId>dev\\.granary</groupId>\\s*<artifactId>([^<]+)<");
    private static final Pattern LWJGL = Pattern.compile("<lwjgl.version>([^<]+)<");

    @Test
    @DisplayName("the bom lists each artifact that is published, and the version of LWJGL that the"
            + " build uses")
    void bom() throws IOException {
        String bom = Files.readString(LocalRepository.TREE.resolve("bom/pom.xml"));
        String parent = Files.readString(LocalRepository.TREE.resolve("pom.xml"));
        TreeSet<String> expected = new TreeSet<>();
        for (String module : LocalRepository.PUBLISHED) {
            expected.add(LocalRepository.artifact(LocalRepository.TREE.resolve(module)));
        }
        assertTrue(expected.remove("granary-bom"));
        assertEquals(expected, new TreeSet<>(groups(MANAGED, bom)));
        assertEquals(groups(LWJGL, parent), groups(LWJGL, bom));
        assertTrue(
                bom.contains("<version>" + LocalRepository.version() + "</version>"),
                "the version of the bom");
    }

    @Test
    @DisplayName("each jar of a published module has the license and the notice in META-INF")
    void license() throws IOException {
        for (String module : LocalRepository.PUBLISHED) {
            Path target = LocalRepository.TREE.resolve(module).resolve("target");
            for (String classes : List.of("classes", "test-classes")) {
                if (!Files.isDirectory(target.resolve(classes))) {
                    continue; // of the bom, or of a module without tests
                }
                for (String file : List.of("LICENSE", "NOTICE")) {
                    assertEquals(
                            -1,
                            Files.mismatch(
                                    LocalRepository.TREE.resolve(file),
                                    target.resolve(classes).resolve("META-INF").resolve(file)),
                            module);
                }
            }
        }
    }

    private static List<String> groups(Pattern pattern, String text) {
        return pattern.matcher(text)
                .results()
                .map((MatchResult found) -> found.group(1))
                .toList();
    }

    @Test
    @DisplayName("the launcher gives Maven the HOME of the shell, also one with a space")
    void home(@TempDir Path directory) throws Exception {
        Assumptions.assumeTrue(SystemTool.run("mvn", "--version"), "no mvn on the PATH");
        for (String name : List.of("home", "a home")) {
            Path home = Files.createDirectories(directory.resolve(name));
            Files.writeString(
                    home.resolve("pom.xml"),
                    "<project><modelVersion>4.0.0</modelVersion><groupId>a</groupId>"
                            + "<artifactId>b</artifactId><version>1</version>"
                            + "<packaging>pom</packaging></project>");
            InstalledProgram.Result result = InstalledProgram.of(List.of(
                            LocalRepository.TREE.resolve("granary").toString(),
                            "mvn",
                            "-B",
                            "-o",
                            "-X",
                            "validate"))
                    .variables(Map.of("HOME", home.toString()))
                    .directory(home)
                    .run();
            assertEquals(0, result.exitCode(), result::toString);
            for (String used : List.of(
                    "Using local repository at " + home + "/.m2/repository",
                    "Reading user settings from " + home + "/.m2/settings.xml")) {
                assertTrue(result.out().lines().anyMatch(line -> line.endsWith(used)), used);
            }
        }
    }

    @Test
    @Tag("exhaustive")
    @DisplayName("install puts jars, sources, Javadoc and poms into an empty HOME, and those of two"
            + " directories are equal byte for byte")
    void reproducible(@TempDir Path directory) throws Exception {
        Assumptions.assumeTrue(SystemTool.run("mvn", "--version"), "no mvn on the PATH");
        List<Map<String, String>> installed = new ArrayList<>();
        for (String name : List.of("one", "another/place")) {
            installed.add(install(directory.resolve(name)));
        }
        assertEquals(installed.get(0), installed.get(1));
        for (String module : LocalRepository.PUBLISHED) {
            String artifact = LocalRepository.artifact(LocalRepository.TREE.resolve(module));
            Path sources = LocalRepository.TREE.resolve(module).resolve("src");
            boolean hasModule = Files.isDirectory(sources);
            boolean hasClasses = Files.isDirectory(sources.resolve("main/java/dev"));
            String file = artifact + "-" + LocalRepository.version();
            assertTrue(installed.getFirst().containsKey(file + ".pom"), file);
            assertEquals(hasModule, installed.getFirst().containsKey(file + ".jar"), file);
            assertEquals(hasModule, installed.getFirst().containsKey(file + "-sources.jar"), file);
            assertEquals(hasClasses, installed.getFirst().containsKey(file + "-javadoc.jar"), file);
        }
    }

    /**
     * Installs from a copy of the tree with an empty home; returns the files with their digests.
     */
    private static Map<String, String> install(Path place) throws Exception {
        Path tree = LocalRepository.copySources(place.resolve("tree"));
        Path home = Files.createDirectories(place.resolve("home"));
        InstalledProgram.Result result = InstalledProgram.of(List.of(
                        "./granary",
                        "mvn",
                        "-q",
                        "-B",
                        "-ntp",
                        "-gs",
                        LocalRepository.settings(place).toString(),
                        "-DskipTests",
                        "-Dspotless.check.skip",
                        "-Dcheckstyle.skip",
                        "install"))
                .directory(tree)
                .variables(Map.of("HOME", home.toString()))
                .run();
        assertEquals(0, result.exitCode(), result::toString);
        Map<String, String> digests = new TreeMap<>();
        try (Stream<Path> files = Files.walk(home.resolve(".m2/repository/dev/granary"))) {
            for (Path file : files.toList()) {
                String name = String.valueOf(file.getFileName());
                if (name.endsWith(".jar") || name.endsWith(".pom")) {
                    digests.put(name, digest(file));
                }
            }
        }
        assertFalse(digests.isEmpty());
        return digests;
    }

    private static String digest(Path file) throws IOException {
        return Sha256.of(Files.readAllBytes(file)).hex();
    }
}
