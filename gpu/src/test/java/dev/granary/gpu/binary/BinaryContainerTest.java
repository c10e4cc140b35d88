package dev.granary.gpu.binary;

import static dev.granary.gpu.binary.SampleBinaries.container;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import static java.nio.charset.StandardCharsets.US_ASCII;

import dev.granary.gpu.binary.BinaryContainer.Cubin;
import dev.granary.gpu.binary.BinaryContainer.IntelProgram;
import dev.granary.gpu.binary.BinaryContainer.Malformed;
import dev.granary.gpu.binary.BinaryContainer.PatchTokens;
import dev.granary.gpu.binary.BinaryContainer.Pocl;
import dev.granary.gpu.binary.BinaryContainer.Ptx;
import dev.granary.gpu.binary.BinaryContainer.SpirV;
import dev.granary.gpu.binary.BinaryContainer.Steppings;
import dev.granary.gpu.binary.BinaryContainer.Unrecognized;
import dev.granary.gpu.binary.BinaryContainer.Zebin;
import dev.granary.gpu.device.CudaArchitecture;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.channels.FileChannel;
import java.nio.channels.FileChannel.MapMode;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Arrays;
import java.util.List;
import java.util.OptionalInt;

/** Tests of reading containers of real binaries, and of ones with wrong lengths and names. */
class BinaryContainerTest {
    private static final String BUILD = "pthread-x86_64-pc-linux-gnu-skylake";

    @Test
    @DisplayName("a zebin names its product family, its version and an embedded module")
    void zebin() {
        assertEquals(
                new Zebin(
                        OptionalInt.of(29),
                        OptionalInt.empty(),
                        Steppings.ANY,
                        "1.20",
                        OptionalInt.empty(),
                        true),
                container(SampleBinaries.ZEBIN));
        assertEquals(
                "Intel zebin 1.20 for Tiger Lake, with SPIR-V",
                container(SampleBinaries.ZEBIN).description());
    }

    @Test
    @DisplayName("a zebin names the range of its steppings, which counts only with a flag")
    void steppings() {
        assertEquals(
                "Intel zebin 1.20 for Skylake, with SPIR-V",
                container(SampleBinaries.ZEBIN_OF_SKYLAKE).description());
        Zebin zebin =
                assertInstanceOf(Zebin.class, container(SampleBinaries.withSteppingChecked()));
        assertEquals(new Steppings(9, 9), zebin.steppings());
        assertEquals(
                "Intel zebin 1.20 for Skylake, stepping 9 only, with SPIR-V", zebin.description());
    }

    @Test
    @DisplayName("a zebin without notes names its device in the header")
    void zebinWithoutNotes() {
        byte[] bytes = SampleBinaries.bytes(SampleBinaries.ZEBIN);
        bytes[16] = 0x12; // type
        bytes[17] = (byte) 0xff;
        bytes[18] = 29; // machine
        bytes[19] = 0;
        bytes[49] = 0x20 | 3; // flags: steppings 3 to 5
        bytes[50] = 5;
        int notes = SampleBinaries.indexOf(bytes, ".note.intelgt.compat");
        bytes[notes] = 'x';
        assertEquals(
                new Zebin(
                        OptionalInt.of(29),
                        OptionalInt.empty(),
                        new Steppings(3, 5),
                        "",
                        OptionalInt.empty(),
                        true),
                container(bytes));
        bytes[18] = 18;
        bytes[49] = (byte) 0x80; // the machine is a graphics core
        assertEquals(
                new Zebin(
                        OptionalInt.empty(),
                        OptionalInt.of(18),
                        Steppings.ANY,
                        "",
                        OptionalInt.empty(),
                        true),
                container(bytes));
    }

    @Test
    @DisplayName("a program of patch tokens names its graphics core")
    void patchTokens() {
        assertEquals(
                new IntelProgram(new PatchTokens(1081, 18), true),
                container(SampleBinaries.PATCH_TOKENS));
    }

    @Test
    @DisplayName("a cubin and a PTX text name their architecture")
    void nvidia() {
        assertEquals(new Cubin(new CudaArchitecture(90, "")), container(SampleBinaries.CUBIN));
        assertEquals(new Ptx("9.0", new CudaArchitecture(75, "")), container(SampleBinaries.PTX));
        byte[] old = SampleBinaries.bytes(SampleBinaries.CUBIN);
        old[8] = 7; // the ABI of compilers up to 12
        old[48] = 86;
        assertEquals(new Cubin(new CudaArchitecture(86, "")), container(old));
        old[8] = 9;
        assertInstanceOf(Unrecognized.class, container(old));
    }

    @ParameterizedTest
    @DisplayName("other texts are no PTX")
    @ValueSource(
            strings = {
                "// a comment\n",
                ".version",
                ".version 9.0",
                ".version 9.0\n.target sm_\n",
                ".version 9.0.1\n.target sm_90\n",
                ".version 9.0\n.target sm_90_x\n",
                "x.version 9.0\n.target sm_90\n",
                "kernel void f() {}"
            })
    void otherTexts(String text) {
        assertInstanceOf(Unrecognized.class, container(text.getBytes(US_ASCII)));
    }

    @Test
    @DisplayName("a PTX text may have features of one architecture")
    void ptxFeatures() {
        assertEquals(
                new Ptx("8.7", new CudaArchitecture(100, "a")),
                container("\n//\n.version 8.7\n//x\n.target sm_100a, debug\n".getBytes(US_ASCII)));
    }

    @Test
    @DisplayName("a SPIR-V module names its version")
    void spirV() {
        assertEquals(new SpirV(1, 0), container(SampleBinaries.SPIR_V));
    }

    @Test
    @DisplayName("a PoCL binary names its device by a hash, and its kernels")
    void pocl() {
        assertEquals(
                new Pocl(9, Pocl.hash(BUILD)),
                container(PoclBinaryWriter.binary(BUILD, 9, "/program.bc", "/scale/0/scale.so")));
    }

    @Test
    @DisplayName("a PoCL binary of another version is read up to its device")
    void poclOfOtherVersion() {
        byte[] bytes = PoclBinaryWriter.binary(BUILD, 11, "/program.bc", "/scale.so");
        assertEquals(new Pocl(11, Pocl.hash(BUILD)), container(Arrays.copyOf(bytes, 80)));
    }

    @ParameterizedTest
    @DisplayName("a PoCL binary whose file would leave the driver's cache is malformed")
    @ValueSource(strings = {"/../x", "/a/../../x", "..", "a/..", "", "a\0b"})
    void leavingFile(String name) {
        for (byte[] bytes : List.of(
                PoclBinaryWriter.binary(BUILD, 9, name, "/scale.so"),
                PoclBinaryWriter.binary(BUILD, 9, "/program.bc", name))) {
            assertEquals(
                    "PoCL binary",
                    assertInstanceOf(Malformed.class, container(bytes)).format(),
                    name);
        }
        assertInstanceOf(
                Pocl.class,
                container(PoclBinaryWriter.binary(BUILD, 9, "/a..b/..c", "/...")),
                "dots within a name are harmless");
    }

    @ParameterizedTest
    @DisplayName("a binary that is cut anywhere is never taken for a whole one of PoCL")
    @ValueSource(ints = {9})
    void truncated(int version) {
        byte[] bytes = PoclBinaryWriter.binary(BUILD, version, "/program.bc", "/scale/scale.so");
        for (int length = 8; length < bytes.length; length++) {
            assertInstanceOf(Malformed.class, container(Arrays.copyOf(bytes, length)), "" + length);
        }
        assertInstanceOf(Malformed.class, container(Arrays.copyOf(bytes, bytes.length + 1)));
    }

    @Test
    @DisplayName("lengths beyond the bytes are malformed and allocate nothing")
    void lengths() {
        byte[] bytes = PoclBinaryWriter.binary(BUILD, 9, "/program.bc", "/scale/scale.so");
        int found = 0;
        for (int at = 20; at < bytes.length - 8; at++) {
            for (byte value : new byte[] {(byte) 0xff, 0x7f}) {
                byte[] changed = bytes.clone();
                Arrays.fill(changed, at, at + 8, value);
                found += container(changed) instanceof Malformed ? 1 : 0;
            }
        }
        assertTrue(found > 200, found + " of the changed lengths were found");
        byte[] elf = SampleBinaries.bytes(SampleBinaries.ZEBIN);
        Arrays.fill(elf, 40, 48, (byte) 0x7f); // position of the section table
        assertEquals(
                "ELF file", assertInstanceOf(Malformed.class, container(elf)).format());
    }

    @Test
    @DisplayName("more bytes than a buffer can have are not recognized")
    void huge(@TempDir Path directory) throws IOException {
        try (FileChannel sparse = FileChannel.open(
                        directory.resolve("huge"),
                        StandardOpenOption.CREATE_NEW,
                        StandardOpenOption.READ,
                        StandardOpenOption.WRITE);
                Arena arena = Arena.ofConfined()) {
            MemorySegment bytes = sparse.map(MapMode.READ_WRITE, 0, 3L << 30, arena);
            assertInstanceOf(Unrecognized.class, BinaryContainer.read(bytes));
            bytes.copyFrom(MemorySegment.ofArray(PoclReader.MAGIC.getBytes(US_ASCII)));
            assertInstanceOf(Pocl.class, BinaryContainer.read(bytes)); // of version 0
        }
    }

    @Test
    @DisplayName("other bytes are not recognized, and the first of them are shown")
    void unrecognized() {
        assertEquals(
                "no known container: it begins with 0102ff",
                container(new byte[] {1, 2, -1}).description());
        assertEquals("no known container: it is empty", container(new byte[0]).description());
        byte[] host = SampleBinaries.bytes(SampleBinaries.ZEBIN);
        host[18] = 62; // x86-64
        assertEquals(
                "no known container: an ELF file of type 0x1 for machine 62",
                container(host).description());
    }
}
