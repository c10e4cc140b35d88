package dev.granary.cli;

import static org.junit.jupiter.api.Assertions.assertAll;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.coordinator.config.ConfigException;
import dev.granary.coordinator.config.GranaryConfig;
import dev.granary.s3.config.S3Config;
import dev.granary.s3.config.S3Location;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.api.io.TempDir;

import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/**
 * Tests that no message shows a secret that was configured in a wrong place. The secrets contain
 * "hush".
 */
class SecretsInConfigurationTest {
    /** Buckets, each with an error. */
    private static final List<String> BUCKETS = List.of(
            "s3://team?secret=hush",
            "file:///team?secret=hush",
            "file:///team#hush",
            "file://user:hush@nas/team",
            "s3://team?secret=hu+hush/x=",
            "s3://team?secret-key=hush&access=read",
            "s3://team?access=read&hush",
            "s3://team?hush",
            "s3://team?HUSH1234=x",
            "s3://team?access=hushHUSH0123456789",
            "s3://team?region=hushHUSH0123456789",
            "s3://team?client=hushhushhushhush1",
            "s3://team?credentials=hush",
            "s3://team?profile=user:hush!",
            "s3://team?kms=hush!",
            "s3://team?fips=hush",
            "s3://TEAM?secret=hush",
            "s3://TEAM?secret=a,hush",
            "s3://TEAM?secret=a hush",
            "s3://team?secret=a s3://b?token=hush",
            "https://h/b?X-Amz-Signature=hush",
            "s3://user:hush@team",
            "s3://user:a?hush@team",
            "s3://user:a hush@team",
            "user:hush@team",
            "s3://team?endpoint=http://user:hush@h",
            "s3://team?endpoint=http://h?token=hush",
            "s3://team?endpoint=user:hush@h",
            "s3://team?endpoint=http://h/?a%20b=hush",
            "s3://team#secret=hush");

    private static final List<String> ENDPOINTS = List.of(
            "http://user:hush@h",
            "user:hush@h",
            "ftp://user:hush@h",
            "http://h?token=hush",
            "http://h/p?token=hush",
            "http://h#hush",
            "http://user:a hush@h",
            "http://user:a/hush@h",
            "http://user:a?hush@h",
            "h?secret=hush");

    @TempDir
    private Path directory;

    private static void assertHidden(String output) {
        assertFalse(output.isBlank());
        assertFalse(output.toLowerCase(Locale.ROOT).contains("hush"), output);
    }

    private static void assertHidden(Throwable thrown) {
        for (Throwable one = thrown; one != null; one = one.getCause()) {
            assertHidden(one.toString());
        }
    }

    private static String refusal(String bucket) {
        return String.valueOf(assertThrows(
                        ConfigException.class, () -> GranaryConfig.builder().bucket(bucket))
                .getMessage());
    }

    private Map<String, String> environment(String variable, String value) {
        return Map.of("HOME", directory.toString(), variable, value);
    }

    private static void assertRefused(Executable configuring) {
        assertHidden(assertThrows(ConfigException.class, configuring));
    }

    @Test
    @DisplayName("a bucket or an endpoint with a secret in the wrong place: rejected in code,"
            + " environment and file, and never shown")
    void places() throws Exception {
        List<Executable> all = new ArrayList<>();
        for (String key : List.of("bucket", "endpoint")) {
            for (String wrong : key.equals("bucket") ? BUCKETS : ENDPOINTS) {
                String variable = key.equals("bucket") ? "GRANARY_BUCKET" : "GRANARY_S3_ENDPOINT";
                Path file = Files.writeString(
                        directory.resolve(all.size() + ".toml"), key + " = \"" + wrong + "\"\n");
                all.add(() -> assertRefused(() -> GranaryConfig.builder()
                        .environment(environment("X", ""))
                        .bucket(wrong)));
                all.add(() -> assertRefused(() -> GranaryConfig.builder()
                        .environment(environment("X", ""))
                        .endpoint(wrong)));
                all.add(() -> assertRefused(() -> GranaryConfig.builder()
                        .environment(environment(variable, wrong))
                        .build()));
                all.add(() -> assertRefused(() -> GranaryConfig.builder()
                        .environment(environment("GRANARY_CONFIG", file.toString()))
                        .build()));
            }
        }
        assertAll(all);
    }

    @Test
    @DisplayName("other settings, unknown keys and TOML errors in the file: no value that may be a"
            + " secret is shown")
    void file() throws Exception {
        List<Executable> all = new ArrayList<>();
        for (String text : List.of(
                "secret-key = hush",
                "secret-key = hu$hush",
                "secret = 'hush'",
                "\"s3://a?secret=hush\" = 1",
                "\"user:hush@h\" = 1",
                "hush",
                "bucket = s3://team?secret=hush",
                "bucket = 's3://team?secret=hush",
                "bucket = \"s3://team?secret=hush\\q\"",
                "bucket = ['s3://team', hush]",
                "bucket = \"\"\"s3://team?secret=hush",
                "capacity = '1?secret=hush'",
                "client = 'user:hush@h'",
                "constant-tensor-cache-capacity = 'x?secret=hush'",
                "secret = 'hush' hush",
                "endpoint = http://user:hush@h",
                "x = 1hush",
                "x = 0xhush")) {
            Path file = Files.writeString(directory.resolve(all.size() + ".toml"), text);
            all.add(() -> assertRefused(() -> GranaryConfig.builder()
                    .environment(environment("GRANARY_CONFIG", file.toString()))
                    .build()));
        }
        assertAll(all);
    }

    @Test
    @DisplayName("the command line, with a mistyped option, too: exit code 2, and neither output"
            + " shows the secret")
    void commandLine() {
        List<Executable> all = new ArrayList<>();
        List<List<String>> lines = new ArrayList<>(List.of(
                List.of("ls", "--bukcet=s3://team?secret=hush"),
                List.of("ls", "--bukcet", "s3://user:hush@team"),
                List.of("ls", "--secret-key=hush"),
                List.of("ls", "--secret-key", "hush"),
                List.of("ls", "--secret-key", "hush", "--more", "hush"),
                List.of("ls", "http://user:hush@h"),
                List.of("ls", "s3://team?secret=hush"),
                List.of("ls", "s3://team?secret=hush", "--dir", "x"),
                List.of("ls", "-x=hush"),
                List.of("ls", "s3://user:hush@team")));
        BUCKETS.forEach(bucket -> lines.add(List.of("warm", "--bucket", bucket)));
        ENDPOINTS.forEach(
                endpoint -> lines.add(List.of("ls", "s3://team", "--endpoint", endpoint)));
        for (List<String> line : lines) {
            all.add(() -> {
                Cli output = Cli.run(line.toArray(String[]::new)).exits(2);
                assertEquals("", output.out());
                assertHidden(output.err());
            });
        }
        for (String wrong : List.of("http://user:hush@h", "s3://team?secret=hush")) {
            all.add(() -> {
                Cli output = Cli.run(
                        "doctor",
                        "--dir",
                        directory.resolve("local").toString(),
                        "--bucket",
                        "s3://team",
                        "--endpoint",
                        wrong);
                assertHidden(output.out() + output.err());
            });
        }
        assertAll(all);
    }

    @Test
    @DisplayName("locations and endpoints in code: exceptions show neither user information nor"
            + " values of a query")
    void exceptions() {
        List<Executable> all = new ArrayList<>();
        for (String wrong : List.of(
                "https://team?secret=hush",
                "http://user:hush@team",
                "s3://user:hush@team",
                "s3://team?secret=hush",
                "s3://team/p?secret=hush",
                "s3://team/user:hush@x")) {
            all.add(() -> assertHidden(
                    assertThrows(IllegalArgumentException.class, () -> S3Location.parse(wrong))));
        }
        for (String wrong : List.of(
                "ftp://user:hush@h",
                "ftp://h?secret=hush",
                "http://user:hush@h",
                "http://h?secret=hush",
                "http://h#hush")) {
            all.add(() -> assertHidden(
                    assertThrows(IllegalArgumentException.class, () -> S3Config.builder("team")
                            .endpoint(URI.create(wrong)))));
        }
        assertAll(all);
    }

    @Test
    @DisplayName("the error is still reported: the name of the option, host and bucket")
    void stillReported() {
        String unknown = refusal("s3://team?secret=abc");
        assertTrue(unknown.contains("'secret=...'") && unknown.contains("access=read"), unknown);
        String access = refusal("s3://team?access=write");
        assertTrue(access.contains("'access=...'") && access.contains("access=read-write"), access);
        String bucket = refusal("s3://TEAM?access=read");
        assertTrue(bucket.contains("'s3://TEAM?...'"), bucket);
        String several = refusal("s3://a-b?access=read, s3://TEAM");
        assertTrue(several.contains("'s3://a-b?..., s3://TEAM'"), several);
        Cli.run("ls", "--bukcet=s3://team")
                .exits(2)
                .reports("Unknown option: '--bukcet'", "Try 'granary ls --help'");
        Cli.run("ls", "--wrong", "extra").exits(2).reports("Unknown option: '--wrong'");
        Cli.run("ls", "extra").exits(2).reports("extra");
    }
}
