package dev.granary.gpu.binary;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import dev.granary.gpu.binary.BinaryContainer.Cubin;
import dev.granary.gpu.binary.BinaryContainer.IntelProgram;
import dev.granary.gpu.binary.BinaryContainer.Malformed;
import dev.granary.gpu.binary.BinaryContainer.PatchTokens;
import dev.granary.gpu.binary.BinaryContainer.Ptx;
import dev.granary.gpu.binary.BinaryContainer.Unrecognized;
import dev.granary.gpu.device.CudaArchitecture;

import java.util.HexFormat;
import java.util.Optional;

/** Reader of containers, which selects the reader of a format by the first bytes. */
final class ContainerReader {
    /** The first bytes of Intel's device code with patch tokens. */
    static final String PATCH_TOKENS = "CTNI";

    /** A program contains device code. */
    private static final int MAX_DEPTH = 1;

    private static final int SHOWN_BYTES = 8;

    private static final int PATCH_TOKENS_HEADER_BYTES = 28;

    private static final int CUDA_MACHINE = 190;

    // The ABI of compilers up to 12 has the architecture in the lowest byte, that of 13 in the
    // next.
    private static final int OLD_CUDA_ABI = 7;
    private static final int CUDA_ABI = 8;

    private static final int FIRST_INTEL_TYPE = 0xff01;
    private static final int LAST_INTEL_TYPE = 0xff05;
    // types of sections
    private static final int LLVM = 0xff00_0003;
    private static final int DEVICE_CODE = 0xff00_0005;
    private static final int SPIR_V = 0xff00_0009;

    private ContainerReader() {}

    static BinaryContainer read(ContainerBytes bytes) {
        return read(bytes, MAX_DEPTH);
    }

    /** Reads a container, and those that it contains down to {@code depth} levels. */
    static BinaryContainer read(ContainerBytes bytes, int depth) {
        String format = "";
        try {
            if (bytes.startsWith(PoclReader.MAGIC)) {
                format = "PoCL binary";
                return PoclReader.read(bytes);
            }
            if (bytes.startsWith(ElfFile.MAGIC)) {
                format = "ELF file";
                return readElf(ElfFile.read(bytes), depth);
            }
            if (bytes.startsWith(PATCH_TOKENS)) {
                format = "Intel patch tokens";
                return readPatchTokens(bytes);
            }
            if (SpirVReader.isSpirV(bytes)) {
                format = "SPIR-V";
                return SpirVReader.read(bytes);
            }
        } catch (MalformedContainerException e) {
            return new Malformed(format, String.valueOf(e.getMessage()));
        }
        Optional<Ptx> text = PtxReader.read(bytes);
        return text.isPresent() ? text.get() : unrecognized(bytes);
    }

    private static BinaryContainer readElf(ElfFile file, int depth)
            throws MalformedContainerException {
        if (file.machine() == CUDA_MACHINE) {
            return readCubin(file);
        }
        if (isIntelProgram(file) && depth > 0) {
            return readIntelProgram(file, depth - 1);
        }
        if (ZebinReader.isZebin(file)) {
            return ZebinReader.read(file);
        }
        return new Unrecognized("an ELF file of type 0x" + Integer.toHexString(file.type())
                + " for machine " + file.machine());
    }

    /** Reads NVIDIA's machine code: the architecture is in the flags of the ELF header. */
    private static BinaryContainer readCubin(ElfFile file) {
        // no expression for all: its verification loads the classes of both results
        if (file.abiVersion() == OLD_CUDA_ABI) {
            return cubin(file.flags() & 0xff);
        }
        if (file.abiVersion() == CUDA_ABI) {
            return cubin((file.flags() >>> 8) & 0xff);
        }
        return new Unrecognized("an NVIDIA cubin of ABI version " + file.abiVersion());
    }

    private static Cubin cubin(int architecture) {
        return new Cubin(new CudaArchitecture(architecture, ""));
    }

    /** Returns true for Intel's ELF file around device code. */
    static boolean isIntelProgram(ElfFile file) {
        return file.type() >= FIRST_INTEL_TYPE && file.type() <= LAST_INTEL_TYPE;
    }

    private static IntelProgram readIntelProgram(ElfFile file, int depth)
            throws MalformedContainerException {
        BinaryContainer device = new Unrecognized("it has no device code");
        boolean hasIntermediate = false;
        for (int i = 0; i < file.sectionCount(); i++) {
            ElfFile.Section section = file.section(i);
            switch (section.type()) {
                case DEVICE_CODE -> device = read(file.content(section), depth);
                case SPIR_V, LLVM -> hasIntermediate |= file.content(section).length() > 0;
                default -> {}
            }
        }
        return new IntelProgram(device, hasIntermediate);
    }

    /** Reads the header of Intel's device code with patch tokens. */
    private static PatchTokens readPatchTokens(ContainerBytes bytes)
            throws MalformedContainerException {
        ContainerBytes header = bytes.part(0, PATCH_TOKENS_HEADER_BYTES);
        bytes.part(PATCH_TOKENS_HEADER_BYTES, header.unsignedInt(24)); // tokens of the program
        return new PatchTokens(header.signedInt(4), header.signedInt(8));
    }

    private static Unrecognized unrecognized(ContainerBytes bytes) {
        if (bytes.length() == 0) {
            return new Unrecognized("it is empty");
        }
        return new Unrecognized("it begins with "
                + HexFormat.of().formatHex(bytes.text(SHOWN_BYTES).getBytes(ISO_8859_1)));
    }
}
