package dev.granary.cli.kernel;

import static org.junit.jupiter.api.Assertions.assertEquals;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.google.gson.JsonObject;

import dev.granary.cache.Id;
import dev.granary.cache.contract.TestEntries;
import dev.granary.cli.Cli;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;

/** Tests of the search for options and tags whose ids never hit again. */
class UnstableInputsTest {
    private static Optional<String> reason(String name, String value) {
        Id id = Id.builder(TestEntries.TARGET).field(name, value).build();
        return ManifestCommand.UnstableInputs.reason(id.fields().getLast());
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "-DROOT=/home/ada/work | an absolute path",
                "-DDATA=\"/opt/data/x.h\" | an absolute path",
                "-DROOT=C:\\work | an absolute path",
                "-include /usr/x/y.h | an absolute path",
                "-DOUT=/tmp/x81 | the name of a temporary file or a process number",
                "-DOUT=tmp.Xa81Qz | the name of a temporary file or a process number",
                "-DOUT=tmpa81x_qz | the name of a temporary file or a process number",
                "-DRUN=pid4711 | the name of a temporary file or a process number",
                "-DBUILD=2026-11-28 | a date or time",
                "-DBUILD=20261128 | a date or time",
                "-DBUILD=20261128T1015 | a date or time",
                "-DBUILD=10:15:30 | a date or time",
                "-DBUILD=1795860000 | a date or time",
                "-DBUILD=1795860000123 | a date or time",
                "-DRUN=6f1d8a2e-0c1b-4f6e-9a57-0123456789ab | a unique id"
            })
    @DisplayName("Paths, dates, unique ids and temporary names are found in options and tags")
    void found(String value, String reason) {
        assertEquals(Optional.of(reason), reason("option", value));
        assertEquals(Optional.of(reason), reason("tag", value));
        assertEquals(Optional.empty(), reason("source", value), "not searched");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "-DN=1024",
                "-DN=20480000",
                "-DSEED=1234567890",
                "-DMASK=0x20261128",
                "-DX=2026.1128f",
                "-DHALF=a/b",
                "-DHALF=(x)/y/2",
                "-DRATIO=1/2",
                "-DTEMPERATURE2=300",
                "-DTMP_BUFFER2=1",
                "-Dtmp=x",
                "-DRAPID=12",
                "-DHASH=6f1d8a2e0c1b4f6e9a570123456789ab",
                "-cl-std=CL2.0",
                "-cl-fast-relaxed-math",
                "-Iinclude-1/d",
                "-DCOMMENT=//",
                "-DURL=a:b"
            })
    @DisplayName("Ordinary options are not")
    void notFound(String value) {
        assertEquals(Optional.empty(), reason("option", value));
    }

    @Test
    @DisplayName("manifest tells them, with exit code 0; a directory of -I does not enter the id")
    void manifest(@TempDir Path directory) throws Exception {
        Files.writeString(directory.resolve("k.cl"), "kernel void k() {}\n", UTF_8);
        Files.createDirectory(directory.resolve("include"));
        Path manifest = Files.writeString(
                directory.resolve("kernels.toml"), """
                [[kernel]]
                name = "plain"
                source = "k.cl"
                options = "-DN=2 -I%1$s/include"
                [[kernel]]
                name = "dated"
                source = "k.cl"
                options = "-DN=2 -DBUILD=2026-11-28"
                tag = "run-6f1d8a2e-0c1b-4f6e-9a57-0123456789ab"
                """.formatted(directory), UTF_8);
        JsonObject json =
                Cli.run("manifest", manifest.toString(), "--json").exits(0).json();
        assertEquals(
                "[{\"kernel\":\"dated\",\"field\":\"option\",\"value\":\"-DBUILD=2026-11-28\","
                        + "\"reason\":\"a date or time\"},"
                        + "{\"kernel\":\"dated\",\"field\":\"tag\",\"value\":"
                        + "\"run-6f1d8a2e-0c1b-4f6e-9a57-0123456789ab\","
                        + "\"reason\":\"a unique id\"}]",
                json.get("unstableInputs").toString());
        Cli.run("manifest", manifest.toString())
                .exits(0)
                .prints("note: kernel 'dated': the option -DBUILD=2026-11-28 has a date or time;");
    }
}
