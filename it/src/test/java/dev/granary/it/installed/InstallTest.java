package dev.granary.it.installed;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.testing.SystemTool;

import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;

/** Tests of the artifacts that {@code ./granary mvn install} makes, and of the bom. */
class InstallTest {
    private static final Pattern MANAGED = Pattern.compile(
            "(?s)<dependency>\\s*<groupId>dev\\.granary</groupId>\\s*<artifactId>([^<]+)<");
    private static final Pattern COMPARED = Pattern.compile("<include>(dev\\.[^<]+)<");
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

    @Test
    @DisplayName("a release compares the packages of api.txt with those of the last release")
    void compared() throws IOException {
        TreeSet<String> packages = new TreeSet<>();
        for (String type : Files.readAllLines(Path.of("src/test/resources/api.txt"))) {
            packages.add(type.replaceFirst("\\.[A-Z].*", ""));
        }
        String parent = Files.readString(LocalRepository.TREE.resolve("pom.xml"));
        assertEquals(packages, new TreeSet<>(groups(COMPARED, parent)));
    }

    private static List<String> groups(Pattern pattern, String text) {
        return pattern.matcher(text)
                .results()
                .map((MatchResult found) -> found.group(1))
                .toList();
    }

    @Test
    @Tag("exhaustive")
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
}
