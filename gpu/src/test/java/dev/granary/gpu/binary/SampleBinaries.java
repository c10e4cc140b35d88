package dev.granary.gpu.binary;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import dev.granary.cache.Backend;
import dev.granary.cache.Target;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.lang.foreign.MemorySegment;
import java.util.List;

/**
 * Real binaries of one small kernel, as the compilers have written them: {@code ocloc} 22.43 and
 * {@code nvcc} 13.0, from {@code saxpy.cl} and {@code saxpy.cu}.
 */
public final class SampleBinaries {
    static final String ZEBIN = "saxpy-tgllp.zebin";
    static final String ZEBIN_OF_SKYLAKE = "saxpy-skl.zebin";
    static final String PATCH_TOKENS = "saxpy-tgllp.patchtokens";
    static final String CUBIN = "saxpy-sm_90.cubin";
    static final String PTX = "saxpy-sm_75.ptx";
    static final String SPIR_V = "saxpy.spv";
    static final List<String> ALL =
            List.of(ZEBIN, ZEBIN_OF_SKYLAKE, PATCH_TOKENS, CUBIN, PTX, SPIR_V);

    static final Target TIGER_LAKE = intel("0x9a49");
    static final Target SKYLAKE = intel("0x1912");
    static final Target DG1 = intel("0x4905");
    static final Target HOPPER = nvidia("9.0");
    static final Target POCL = pocl("pthread-x86_64-pc-linux-gnu-skylake");
    static final Target OTHER = new Target(Backend.OPENCL, "vendor", "device id 0x9a49", "1");

    private SampleBinaries() {}

    static Target intel(String deviceId) {
        return new Target(Backend.OPENCL, "intel", "Intel(R) Graphics id " + deviceId, "22.43");
    }

    static Target nvidia(String capability) {
        return new Target(Backend.OPENCL, "nvidia", "NVIDIA Device sm " + capability, "580.65");
    }

    static Target pocl(String build) {
        return new Target(Backend.OPENCL, "pocl", build, "PoCL 3.1");
    }

    /** Returns the bytes of a binary, by the name of its file. */
    public static byte[] bytes(String name) {
        try (InputStream in = SampleBinaries.class.getResourceAsStream(name)) {
            if (in == null) {
                throw new IllegalArgumentException("no resource " + name);
            }
            return in.readAllBytes();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Returns the zebin of Skylake with the flag by which a driver checks the stepping. */
    static byte[] withSteppingChecked() {
        byte[] bytes = bytes(ZEBIN_OF_SKYLAKE);
        int metadata = indexOf(bytes, "IntelGT\0\0\t)\0"); // the third note
        bytes[metadata + 9] |= 0x20;
        return bytes;
    }

    /** Returns the position of these characters, which must be there. */
    static int indexOf(byte[] bytes, String text) {
        int at = new String(bytes, ISO_8859_1).indexOf(text);
        if (at < 0) {
            throw new IllegalArgumentException("no " + text);
        }
        return at;
    }

    static BinaryContainer container(String name) {
        return BinaryContainer.read(MemorySegment.ofArray(bytes(name)));
    }

    static BinaryContainer container(byte[] bytes) {
        return BinaryContainer.read(MemorySegment.ofArray(bytes));
    }
}
