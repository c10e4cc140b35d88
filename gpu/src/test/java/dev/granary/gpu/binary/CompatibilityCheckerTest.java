package dev.granary.gpu.binary;

import static dev.granary.gpu.binary.SampleBinaries.DG1;
import static dev.granary.gpu.binary.SampleBinaries.HOPPER;
import static dev.granary.gpu.binary.SampleBinaries.OTHER;
import static dev.granary.gpu.binary.SampleBinaries.POCL;
import static dev.granary.gpu.binary.SampleBinaries.SKYLAKE;
import static dev.granary.gpu.binary.SampleBinaries.TIGER_LAKE;
import static dev.granary.gpu.binary.SampleBinaries.bytes;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static java.nio.charset.StandardCharsets.US_ASCII;

import dev.granary.cache.Backend;
import dev.granary.cache.KernelBinaries;
import dev.granary.cache.Target;
import dev.granary.gpu.binary.compatibility.BinaryCompatibility;
import dev.granary.gpu.binary.compatibility.BinaryCompatibility.Compatible;
import dev.granary.gpu.binary.compatibility.BinaryCompatibility.Incompatible;
import dev.granary.gpu.binary.compatibility.BinaryCompatibility.Undetermined;
import dev.granary.gpu.binary.compatibility.CompatibilityChecker;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import java.util.Arrays;
import java.util.List;

/** Tests of the check of binaries against targets. */
class CompatibilityCheckerTest {
    private static final List<Target> KNOWN = List.of(TIGER_LAKE, SKYLAKE, DG1, HOPPER, POCL);

    private static BinaryCompatibility check(Target target, byte[] binary) {
        return CompatibilityChecker.check(target, KernelBinaries.of(binary));
    }

    private static void assertResult(
            Class<? extends BinaryCompatibility> expected, Target target, String name) {
        assertInstanceOf(expected, check(target, bytes(name)), name + " on " + target.device());
    }

    @Test
    @DisplayName("a zebin is compatible with devices of its product family only")
    void zebin() {
        assertResult(Compatible.class, TIGER_LAKE, SampleBinaries.ZEBIN);
        assertResult(Compatible.class, SampleBinaries.intel("0x9a60"), SampleBinaries.ZEBIN);
        assertResult(Incompatible.class, DG1, SampleBinaries.ZEBIN);
        assertResult(Incompatible.class, SKYLAKE, SampleBinaries.ZEBIN);
        assertEquals(
                new Incompatible("Intel zebin 1.20 for Tiger Lake, with SPIR-V, not for DG1"),
                check(DG1, bytes(SampleBinaries.ZEBIN)));
    }

    @Test
    @DisplayName("steppings, unknown device ids and unknown vendors are left to the driver")
    void undetermined() {
        assertInstanceOf(Undetermined.class, check(SKYLAKE, SampleBinaries.withSteppingChecked()));
        assertInstanceOf(Incompatible.class, check(DG1, SampleBinaries.withSteppingChecked()));
        assertResult(Undetermined.class, SampleBinaries.intel("0xfffe"), SampleBinaries.ZEBIN);
        assertResult(Undetermined.class, SampleBinaries.intel("unknown"), SampleBinaries.ZEBIN);
        for (String name : SampleBinaries.ALL) {
            assertResult(Undetermined.class, OTHER, name);
        }
    }

    @Test
    @DisplayName("patch tokens are compatible with devices of their graphics core")
    void patchTokens() {
        assertResult(Compatible.class, TIGER_LAKE, SampleBinaries.PATCH_TOKENS);
        assertResult(Compatible.class, DG1, SampleBinaries.PATCH_TOKENS);
        assertResult(Incompatible.class, SKYLAKE, SampleBinaries.PATCH_TOKENS);
    }

    @Test
    @DisplayName("a cubin is for its architecture, a PTX text for later ones too")
    void nvidia() {
        assertResult(Compatible.class, HOPPER, SampleBinaries.CUBIN);
        assertResult(Incompatible.class, SampleBinaries.nvidia("8.9"), SampleBinaries.CUBIN);
        assertResult(Incompatible.class, SampleBinaries.nvidia("10.0"), SampleBinaries.CUBIN);
        assertResult(Undetermined.class, SampleBinaries.nvidia("9.1"), SampleBinaries.CUBIN);
        assertResult(Undetermined.class, SampleBinaries.nvidia("unknown"), SampleBinaries.CUBIN);
        assertResult(Compatible.class, HOPPER, SampleBinaries.PTX);
        assertResult(Compatible.class, SampleBinaries.nvidia("7.5"), SampleBinaries.PTX);
        assertResult(Incompatible.class, SampleBinaries.nvidia("7.0"), SampleBinaries.PTX);
    }

    @Test
    @DisplayName("PTX with features of one architecture is compatible with that one only")
    void ptxFeatures() {
        byte[] text = ".version 8.7\n.target sm_90a\n".getBytes(US_ASCII);
        assertInstanceOf(Compatible.class, check(HOPPER, text));
        assertInstanceOf(Undetermined.class, check(SampleBinaries.nvidia("10.0"), text));
    }

    @Test
    @DisplayName("a PoCL binary is compatible with the device of its build string only")
    void pocl() {
        byte[] binary = PoclBinaryWriter.binary(POCL.device(), 9, "/program.bc", "/scale.so");
        assertInstanceOf(Compatible.class, check(POCL, binary));
        assertInstanceOf(
                Incompatible.class, check(SampleBinaries.pocl(POCL.device() + "x"), binary));
        for (int unverified : List.of(8, 10, 12, 13)) {
            byte[] other = PoclBinaryWriter.binary("x", unverified, "/program.bc", "/scale.so");
            assertInstanceOf(Undetermined.class, check(POCL, other), "version " + unverified);
        }
    }

    @Test
    @DisplayName("the container of one vendor is incompatible with the driver of another")
    void otherVendor() {
        byte[] pocl = PoclBinaryWriter.binary(POCL.device(), 9, "/program.bc", "/scale.so");
        for (Target target : List.of(TIGER_LAKE, HOPPER)) {
            assertInstanceOf(Incompatible.class, check(target, pocl));
        }
        for (String name : List.of(SampleBinaries.ZEBIN, SampleBinaries.PATCH_TOKENS)) {
            assertResult(Incompatible.class, HOPPER, name);
            assertResult(Incompatible.class, POCL, name);
        }
        for (String name : List.of(SampleBinaries.CUBIN, SampleBinaries.PTX)) {
            assertResult(Incompatible.class, TIGER_LAKE, name);
            assertResult(Incompatible.class, POCL, name);
        }
    }

    @Test
    @DisplayName("modules and unknown bytes are left to the driver, malformed ones never")
    void otherBytes() {
        byte[] cut = Arrays.copyOf(bytes(SampleBinaries.ZEBIN), 1000);
        for (Target target : KNOWN) {
            assertResult(Undetermined.class, target, SampleBinaries.SPIR_V);
            assertInstanceOf(Undetermined.class, check(target, new byte[] {1, 2, 3}));
            assertInstanceOf(Incompatible.class, check(target, cut));
        }
    }

    @Test
    @DisplayName("several binaries are compatible if all are, incompatible if one is")
    void several() {
        byte[] good = bytes(SampleBinaries.ZEBIN);
        byte[] unknown = {1, 2, 3};
        byte[] bad = bytes(SampleBinaries.ZEBIN_OF_SKYLAKE);
        assertInstanceOf(
                Compatible.class,
                CompatibilityChecker.check(TIGER_LAKE, KernelBinaries.of(good, good)));
        for (KernelBinaries mixed :
                List.of(KernelBinaries.of(good, unknown), KernelBinaries.of(unknown, good))) {
            assertInstanceOf(Undetermined.class, CompatibilityChecker.check(TIGER_LAKE, mixed));
        }
        assertInstanceOf(
                Incompatible.class,
                CompatibilityChecker.check(TIGER_LAKE, KernelBinaries.of(good, unknown, bad)));
        assertInstanceOf(
                Undetermined.class, CompatibilityChecker.check(TIGER_LAKE, KernelBinaries.none()));
    }

    private static BinaryCompatibility intermediate(byte[]... binaries) {
        return CompatibilityChecker.check(
                new Target(Backend.LEVEL_ZERO, BinaryContainer.SpirV.VENDOR, "any", "any"),
                KernelBinaries.of(binaries));
    }

    @Test
    @DisplayName("an intermediate program is a whole module with the name of its front end")
    void intermediate() {
        byte[] module = SampleBinaries.bytes(SampleBinaries.SPIR_V);
        byte[] name = "ocloc 22.43.24595.41".getBytes(ISO_8859_1);
        assertInstanceOf(Compatible.class, intermediate(module, name));
        for (int length = 0; length < module.length; length++) {
            assertInstanceOf(
                    Incompatible.class,
                    intermediate(Arrays.copyOf(module, length), name),
                    length + " of " + module.length + " bytes");
        }
        for (byte[][] wrong : new byte[][][] {
            {module},
            {module, name, name},
            {name, module},
            {module, new byte[0]},
            {module, "two\nlines".getBytes(ISO_8859_1)},
            {module, new byte[201]},
            {SampleBinaries.bytes(SampleBinaries.ZEBIN), name},
            changed(module, 4, 1, name), // the version
            changed(module, 6, 2, name),
            changed(module, 7, 1, name),
            changed(module, 15, 0x80, name), // the bound of numbers
            changed(module, 16, 1, name), // the schema
            changed(module, 20, 18, name), // the first capability
            {Arrays.copyOf(module, module.length + 4), name}
        }) {
            assertInstanceOf(Incompatible.class, intermediate(wrong));
        }
    }

    private static byte[][] changed(byte[] module, int at, int value, byte[] name) {
        byte[] copy = module.clone();
        copy[at] = (byte) value;
        return new byte[][] {copy, name};
    }
}
