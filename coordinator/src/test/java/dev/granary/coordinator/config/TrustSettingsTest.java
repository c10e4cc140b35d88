package dev.granary.coordinator.config;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.cache.format.EntrySigner;
import dev.granary.cache.format.TrustPolicy;
import dev.granary.cache.format.TrustPolicy.Mode;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/** Tests of keys and of the settings that say which of them count. */
class TrustSettingsTest {
    private final Path home;
    private final Map<String, String> environment = new HashMap<>();
    private final KeyTexts.Pair ci;
    private final KeyTexts.Pair next;

    TrustSettingsTest(@TempDir Path home) throws ConfigException {
        this.home = home;
        this.ci = KeyTexts.create("ci-2026");
        this.next = KeyTexts.create("ci-2027");
        environment.put("HOME", home.toString());
    }

    private GranaryConfig config() throws ConfigException {
        return GranaryConfig.builder().environment(environment).build();
    }

    /** Returns the message of the mistake, which shows no key. */
    private String mistake() {
        String message =
                String.valueOf(assertThrows(ConfigException.class, this::config).getMessage());
        for (KeyTexts.Pair pair : List.of(ci, next)) {
            String secret = pair.privateKey().substring(pair.privateKey().lastIndexOf(':') + 1);
            assertFalse(message.contains(secret.substring(20)), message);
        }
        return message;
    }

    private String file(String name, String text, String modes) throws IOException {
        Path file = Files.writeString(home.resolve(name), text + "\n");
        Files.setPosixFilePermissions(file, PosixFilePermissions.fromString(modes));
        return file.toString();
    }

    @Test
    @DisplayName("each layer has its policy, with a comma between the names of keys")
    void layers() throws Exception {
        environment.put("GRANARY_TRUSTED_KEYS", ci.publicKey() + "," + next.publicKey());
        environment.put(
                "GRANARY_BUCKET",
                "s3://one?trust=require:ci-2026,ci-2027&access=read,s3://two?trust=warn:ci-2027,"
                        + " file:///three?trust=require, s3://four");
        List<BucketConfig> layers = config().buckets();
        assertEquals(
                List.of("s3://one", "s3://two", "file:///three", "s3://four"),
                layers.stream().map(BucketConfig::address).toList());
        assertEquals(
                List.of(Mode.REQUIRE, Mode.WARN, Mode.REQUIRE, Mode.OFF),
                layers.stream().map(each -> each.trust().mode()).toList());
        assertTrue(layers.get(0).trust().knows("ci-2026"));
        assertFalse(layers.get(1).trust().knows("ci-2026"));
        assertTrue(layers.get(2).trust().knows("ci-2026"));
        assertFalse(layers.get(0).isWritable());
    }

    @Test
    @DisplayName("keys are in a file as well: one per line, comments, revoked by name for good")
    void files() throws Exception {
        environment.put(
                "GRANARY_TRUSTED_KEYS",
                file(
                        "keys",
                        "# of CI\n" + ci.publicKey() + "\nci-2027:revoked\n" + next.publicKey(),
                        "rw-r--r--"));
        environment.put("GRANARY_SIGNING_KEY", file("ci.key", ci.privateKey(), "rw-------"));
        GranaryConfig config = config();
        assertEquals(Set.of("ci-2026", "ci-2027"), config.trustedKeys().keySet());
        assertEquals(Optional.empty(), config.trustedKeys().get("ci-2027"));
        assertEquals("ci-2026", config.signer().map(EntrySigner::name).orElseThrow());
        environment.put("GRANARY_SIGNING_KEY", ci.privateKey());
        assertEquals("ci-2026", config().signer().map(EntrySigner::name).orElseThrow());
    }

    @Test
    @DisplayName("the usual file of trusted keys is beside the configuration file")
    void usualFile() throws Exception {
        assertEquals(Map.of(), config().trustedKeys());
        Path file = GranaryConfig.builder()
                .environment(environment)
                .trustedKeysFile()
                .orElseThrow();
        Files.createDirectories(file.resolveSibling("."));
        Files.writeString(file, ci.publicKey());
        Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rw-------"));
        assertEquals(Set.of("ci-2026"), config().trustedKeys().keySet());
    }

    @Test
    @DisplayName("trust that no signature could satisfy stops at once, and says what to change")
    void impossible() {
        environment.put("GRANARY_BUCKET", "s3://one?trust=require");
        assertTrue(mistake().contains("needs a trusted key, and there is none"), this::mistake);
        environment.put("GRANARY_TRUSTED_KEYS", ci.publicKey());
        environment.put("GRANARY_BUCKET", "s3://one?trust=require:ci-2026,ci-2027");
        assertTrue(mistake().contains("names the key ci-2027"), this::mistake);
        environment.put("GRANARY_BUCKET", "s3://one?trust=always");
        assertTrue(mistake().contains("trust= with off, warn or require"), this::mistake);
        environment.put("GRANARY_BUCKET", "s3://one");
        environment.put("GRANARY_TRUST", "require");
        assertTrue(mistake().contains("needs GRANARY_SIGNING_KEY"), this::mistake);
        environment.put("GRANARY_SIGNING_KEY", next.privateKey());
        assertTrue(mistake().contains("needs GRANARY_SIGNING_KEY"), this::mistake);
    }

    @Test
    @DisplayName("the local directory requires the signatures of this machine's key")
    void local() throws Exception {
        environment.put("GRANARY_TRUSTED_KEYS", ci.publicKey());
        environment.put("GRANARY_TRUST", "require:ci-2026");
        environment.put("GRANARY_SIGNING_KEY", ci.privateKey());
        assertEquals(Mode.REQUIRE, config().localTrust().mode());
        environment.remove("GRANARY_TRUST");
        assertEquals(TrustPolicy.OFF, config().localTrust());
    }

    @Test
    @DisplayName("damaged, exchanged and open keys stop at once, and no message shows a key")
    void wrongKeys() throws Exception {
        environment.put("GRANARY_TRUSTED_KEYS", ci.publicKey() + " " + next.privateKey());
        assertTrue(mistake().contains("a private one; replace that key"), this::mistake);
        environment.put("GRANARY_TRUSTED_KEYS", ci.publicKey().substring(0, 60));
        assertTrue(mistake().contains("damaged key ci-2026"), this::mistake);
        environment.put("GRANARY_TRUSTED_KEYS", "/nowhere");
        assertTrue(mistake().contains("neither a key nor a file"), this::mistake);
        environment.put(
                "GRANARY_TRUSTED_KEYS",
                Files.write(home.resolve("binary"), new byte[] {-1, -2}).toString());
        assertTrue(mistake().contains("a file that is no text"), this::mistake);
        environment.put("GRANARY_TRUSTED_KEYS", file("keys", ci.publicKey(), "rw-rw-r--"));
        assertTrue(mistake().contains("chmod 600"), this::mistake);
        environment.remove("GRANARY_TRUSTED_KEYS");
        for (String key : List.of(
                ci.publicKey(),
                ci.privateKey().substring(0, 50),
                ci.privateKey().replace("ci-2026", "CI"),
                file("open.key", ci.privateKey(), "rw-r--r--"))) {
            environment.put("GRANARY_SIGNING_KEY", key);
            assertTrue(mistake().contains("GRANARY_SIGNING_KEY"), this::mistake);
        }
    }
}
