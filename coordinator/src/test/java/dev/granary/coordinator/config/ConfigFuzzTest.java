package dev.granary.coordinator.config;

import static org.junit.jupiter.api.Assertions.assertFalse;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.granary.cache.constant.ConstantLimits;
import dev.granary.cache.fuzz.FileFuzzer;
import dev.granary.cache.fuzz.FuzzTarget;
import dev.granary.cache.fuzz.Fuzzer;
import dev.granary.coordinator.toml.TomlFuzz;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.nio.file.Path;
import java.util.List;
import java.util.Map;

/**
 * Fuzz test of configuration files and environment values: each gives a configuration or an error
 * message.
 */
class ConfigFuzzTest {
    @TempDir
    private Path directory = Path.of("");

    @Test
    @DisplayName("Fuzz: a configuration file is read, or its mistake is reported")
    void configuration() throws Exception {
        Path file = directory.resolve("config.toml");
        Map<String, String> environment =
                Map.of("GRANARY_CONFIG", file.toString(), "HOME", directory.toString());
        FileFuzzer.run(
                file,
                FuzzTarget.of(
                                "configuration",
                                FuzzTarget.texts(
                                        """
                                        bucket = ["s3://team/x?access=read&endpoint=\
                                        https://s3.example.com&region=eu-central-1", "s3://b-b"]
                                        endpoint = "http://127.0.0.1:9000"
                                        client = "minio"
                                        dir = "/var/cache/granary"
                                        capacity = "4GiB"
                                        eviction = "fifo"
                                        claim-wait = 60
                                        bucket-wait = "4s"
                                        primitive-cache-capacity = 10
                                        constant-tensor-cache-capacity = "cpu:10240;gpu:2048:COST"
                                        """,
                                        "capacity = 500\nbucket = 's3://u:p@x'\n",
                                        "bucket = ['s3://a', \"s3://b?access=read\"]",
                                        "client = 'aws'\nendpoint = 'https://h:1'",
                                        "dir = '~/x'",
                                        "eviction = \"lru\"",
                                        "claim-wait = '500ms'",
                                        "primitive-cache-capacity = 10",
                                        "constant-tensor-cache-capacity = 'cpu:1;gpu:2:COST'"),
                                bytes -> {
                                    try {
                                        assertFalse(GranaryConfig.builder()
                                                .environment(environment)
                                                .build()
                                                .toString()
                                                .isEmpty());
                                    } catch (ConfigException e) {
                                        TomlFuzz.checkMessage(e);
                                    }
                                })
                        .words(TomlFuzz.WORDS)
                        .allocating(40_000),
                FileFuzzer.runs(50));
    }

    @Test
    @DisplayName("Fuzz: environment values are used, or reported as a mistake")
    void environment() throws Exception {
        List<String> names = List.of(
                "GRANARY_BUCKET",
                "GRANARY_S3_ENDPOINT",
                "GRANARY_CAPACITY",
                "GRANARY_CLAIM_WAIT",
                "GRANARY_DIR",
                "XDG_CACHE_HOME",
                "GRANARY_EVICTION",
                "GRANARY_S3_CLIENT");
        List<String> values = List.of(
                "0s3://team/x?access=read&endpoint=https://h:1&region=eu,s3://b-b",
                "0s3://abc s3://abd?client=minio",
                "1http://h:9000",
                "1https://[::1]/x",
                "24GiB",
                "2500",
                // the digit selects the variable
                "360s",
                "3500ms",
                "32 m",
                "4/x/y",
                "4x",
                "5/x/y",
                "6lru",
                "6fifo",
                "7minio",
                "8allow",
                "cpu:10;gpu:2048:COST");
        Fuzzer.run(
                FuzzTarget.of(
                                "environment",
                                FuzzTarget.texts(values.toArray(String[]::new)),
                                bytes -> {
                                    String text = new String(bytes, UTF_8).replace('\0', '0');
                                    ConstantLimits.parse(text, _ -> {});
                                    String name = text.isEmpty()
                                            ? names.getFirst()
                                            : names.get(Math.floorMod(
                                                    text.charAt(0) - '0', names.size()));
                                    // without a configuration file
                                    Map<String, String> all = Map.of(
                                            "HOME",
                                            directory.toString(),
                                            name,
                                            text.isEmpty() ? "" : text.substring(1));
                                    try {
                                        assertFalse(GranaryConfig.builder()
                                                .environment(all)
                                                .build()
                                                .toString()
                                                .isEmpty());
                                    } catch (ConfigException e) {
                                        TomlFuzz.checkMessage(e);
                                    }
                                })
                        .words(List.of(
                                "s3://",
                                "?",
                                "&",
                                "=",
                                "GiB",
                                "ms",
                                "-",
                                "99999999999999999999",
                                "\u0661",
                                "//u:p@",
                                "http://[",
                                "%",
                                "..",
                                "~",
                                "access=",
                                "client=",
                                ","))
                        .allocating(20_000),
                FileFuzzer.runs(20));
    }
}
