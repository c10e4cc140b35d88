package dev.granary.it.installed;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;

import dev.granary.cache.Sha256;
import dev.granary.testing.SystemTool;

import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Stream;
import java.util.zip.ZipEntry;
import java.util.zip.ZipInputStream;

/**
 * Test of a release: of the bundle that {@code ./granary mvn -Prelease deploy} makes for Maven
 * Central. {@code -Dgranary.docs.write=true} writes {@code THIRD-PARTY.txt} from it.
 */
class ReleaseTest {
    private static final String SNAPSHOT = "-SNAPSHOT";
    private static final List<String> CHECKSUMS = List.of(".md5", ".sha1", ".sha256", ".sha512");

    private final Path directory;

    ReleaseTest(@TempDir Path directory) {
        this.directory = directory;
    }

    @Test
    @Tag("exhaustive") // takes minutes
    @DisplayName("the bundle has what Maven Central asks for, signed; those of two directories are"
            + " equal byte for byte, but for the signatures")
    void bundle() throws Exception {
        Assumptions.assumeTrue(SystemTool.run("mvn", "--version"), "no mvn on the PATH");
        Assumptions.assumeTrue(SystemTool.run("gpg", "--version"), "no gpg on the PATH");
        Path keys = Files.createDirectories(directory.resolve("k"));
        shell("""
                chmod 700 k
                gpg --homedir k -q --batch --passphrase '' --quick-generate-key test rsa3072 sign
                gpg --homedir k -q --batch --armor --export-secret-keys >key.asc
                """);
        Map<String, byte[]> bundle = release("one");
        assertEquals(contents(bundle), contents(release("another/place")));

        Set<String> files = contents(bundle).keySet();
        Set<String> expected = new TreeSet<>(List.of(file("granary-parent", ".pom")));
        for (String module : LocalRepository.PUBLISHED) {
            Path source = LocalRepository.TREE.resolve(module);
            String artifact = LocalRepository.artifact(source);
            expected.add(file(artifact, ".pom"));
            if (Files.isDirectory(source.resolve("src"))) {
                for (String kind :
                        List.of(".jar", "-sources.jar", "-javadoc.jar", "-cyclonedx.json")) {
                    expected.add(file(artifact, kind));
                }
            }
        }
        TreeSet<String> missing = new TreeSet<>(expected);
        missing.removeAll(files);
        assertEquals(Set.of(), missing);
        for (Map.Entry<String, byte[]> each : bundle.entrySet()) {
            String file = each.getKey();
            if (!files.contains(file)) {
                continue;
            }
            for (String suffix :
                    Stream.concat(Stream.of(".asc"), CHECKSUMS.stream()).toList()) {
                assertTrue(bundle.containsKey(file + suffix), file + suffix);
            }
            assertTrue(expected.contains(file) || file.matches(".*-tests\\.jar|.*\\.json"), file);
            if (file.endsWith(".jar")) {
                assertTrue(
                        entries(each.getValue())
                                .keySet()
                                .containsAll(Set.of("META-INF/LICENSE", "META-INF/NOTICE")),
                        file);
            }
            if (file.endsWith(".pom")) {
                assertPom(file, new String(each.getValue(), UTF_8));
            }
        }
        assertSigned(bundle);
        assertThirdParty(bundle);
    }

    private static String version() throws IOException {
        return LocalRepository.version().replace(SNAPSHOT, "");
    }

    private static String file(String artifact, String suffix) throws IOException {
        return "dev/granary/" + artifact + "/" + version() + "/" + artifact + "-" + version()
                + suffix;
    }

    private void shell(String script) throws Exception {
        InstalledProgram.Result result = InstalledProgram.of(List.of("/bin/sh", "-ec", script))
                .directory(directory)
                .run();
        assertEquals(0, result.exitCode(), result::toString);
    }

    /** Releases a copy of the tree with an empty home; returns the files of the bundle. */
    private Map<String, byte[]> release(String place) throws Exception {
        Path parent = Files.createDirectories(directory.resolve(place));
        Path tree = LocalRepository.copySources(parent.resolve("tree"));
        List<Path> poms;
        try (Stream<Path> files = Files.walk(tree)) {
            poms = files.filter(file -> file.endsWith("pom.xml")).toList();
        }
        for (Path pom : poms) {
            Files.writeString(
                    pom, Files.readString(pom).replace(LocalRepository.version(), version()));
        }
        InstalledProgram.Result result = InstalledProgram.of(List.of(
                        "./granary",
                        "mvn",
                        "-Prelease",
                        "-q",
                        "-B",
                        "-ntp",
                        "-gs",
                        LocalRepository.settings(parent).toString(),
                        "-DskipTests",
                        "-DskipUpload",
                        "-Dspotless.check.skip",
                        "-Dcheckstyle.skip",
                        "-pl",
                        "!it,!examples/demo", // which are not published
                        "deploy"))
                .directory(tree)
                .variables(Map.of(
                        "HOME", Files.createDirectories(parent.resolve("home")).toString(),
                        "MAVEN_GPG_KEY", Files.readString(directory.resolve("key.asc"))))
                .run();
        assertEquals(0, result.exitCode(), result::toString);
        return entries(
                Files.readAllBytes(tree.resolve("target/central-publishing/central-bundle.zip")));
    }

    private static Map<String, byte[]> entries(byte[] archive) throws IOException {
        Map<String, byte[]> entries = new TreeMap<>();
        try (ZipInputStream in = new ZipInputStream(new ByteArrayInputStream(archive))) {
            for (ZipEntry entry = in.getNextEntry(); entry != null; entry = in.getNextEntry()) {
                if (!entry.isDirectory()) {
                    entries.put(entry.getName(), in.readAllBytes());
                }
            }
        }
        return entries;
    }

    /** Returns the digests of all files that are neither a signature nor a checksum. */
    private static Map<String, String> contents(Map<String, byte[]> bundle) {
        Map<String, String> digests = new TreeMap<>();
        bundle.forEach((file, content) -> {
            if (!file.contains(".asc") && CHECKSUMS.stream().noneMatch(file::endsWith)) {
                digests.put(file, Sha256.of(content).hex());
            }
        });
        return digests;
    }

    private static void assertPom(String file, String pom) {
        List<String> own = new ArrayList<>(List.of("name", "description"));
        if (!pom.contains("<parent>")) {
            own.addAll(List.of("url", "licenses", "developers", "scm"));
        }
        for (String element : own) {
            assertTrue(pom.contains("\n  <" + element), file + ": " + element);
        }
    }

    private void assertSigned(Map<String, byte[]> bundle) throws Exception {
        Path files = directory.resolve("files");
        for (Map.Entry<String, byte[]> file : bundle.entrySet()) {
            Path copy = files.resolve(file.getKey());
            Files.createDirectories(copy.resolveSibling("."));
            Files.write(copy, file.getValue());
        }
        shell("""
                find files -name '*.asc' | while read -r file; do
                  gpg --homedir k -q --batch --verify "$file" "${file%.asc}" || exit 1
                done
                """);
    }

    /** The licences of the components in the lists of dependencies are those of the file. */
    private static void assertThirdParty(Map<String, byte[]> bundle) throws IOException {
        Map<String, String> licenses = new TreeMap<>();
        for (Map.Entry<String, byte[]> file : bundle.entrySet()) {
            if (!file.getKey().endsWith("-cyclonedx.json")) {
                continue;
            }
            JsonObject list =
                    JsonParser.parseString(new String(file.getValue(), UTF_8)).getAsJsonObject();
            for (JsonElement element : list.getAsJsonArray("components")) {
                JsonObject component = element.getAsJsonObject();
                String group = component.get("group").getAsString();
                if (!group.equals("dev.granary")) {
                    licenses.put(
                            group + ":" + component.get("name").getAsString(), license(component));
                }
            }
        }
        assertTrue(licenses.containsKey("info.picocli:picocli"), licenses::toString);
        List<String> lines = new ArrayList<>(
                List.of("Dependencies of Granary's artifacts, with their licences.", ""));
        licenses.forEach((name, license) -> lines.add(name + "  " + license));
        Path file = LocalRepository.TREE.resolve("THIRD-PARTY.txt");
        if (Boolean.getBoolean("granary.docs.write")) {
            Files.write(file, lines);
        }
        assertEquals(String.join("\n", lines), String.join("\n", Files.readAllLines(file)));
    }

    private static String license(JsonObject component) {
        JsonArray licenses = component.getAsJsonArray("licenses");
        assertTrue(licenses != null && !licenses.isEmpty(), component::toString);
        Set<String> names = new TreeSet<>();
        for (JsonElement each : licenses) {
            JsonObject choice = each.getAsJsonObject();
            if (choice.has("expression")) {
                names.add(choice.get("expression").getAsString());
            } else {
                JsonObject license = choice.getAsJsonObject("license");
                names.add(license.get(license.has("id") ? "id" : "name").getAsString());
            }
        }
        return String.join(" or ", names);
    }
}
