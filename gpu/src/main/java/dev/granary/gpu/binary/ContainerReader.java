package dev.granary.gpu.binary;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import dev.granary.gpu.binary.BinaryContainer.Format;
import dev.granary.gpu.binary.BinaryContainer.Malformed;
import dev.granary.gpu.binary.BinaryContainer.Ptx;
import dev.granary.gpu.binary.BinaryContainer.Unrecognized;

import java.util.HexFormat;
import java.util.Optional;

/** Reader of containers, which selects the reader of a format by the first bytes. */
final class ContainerReader {
    /** A program contains device code. */
    private static final int MAX_DEPTH = 1;

    private static final int SHOWN_BYTES = 8;

    private ContainerReader() {}

    static BinaryContainer read(ContainerBytes bytes) {
        return read(bytes, MAX_DEPTH);
    }

    /** Reads a container, and those that it contains down to {@code depth} levels. */
    static BinaryContainer read(ContainerBytes bytes, int depth) {
        Format format = Format.ELF;
        try {
            if (bytes.startsWith(PoclReader.MAGIC)) {
                format = Format.POCL;
                return PoclReader.read(bytes);
            }
            if (bytes.startsWith(ElfFile.MAGIC)) {
                format = Format.ELF;
                return readElf(ElfFile.read(bytes), depth);
            }
            if (bytes.startsWith(PatchTokensReader.MAGIC)) {
                format = Format.PATCH_TOKENS;
                return PatchTokensReader.read(bytes);
            }
            if (SpirVReader.isSpirV(bytes)) {
                format = Format.SPIR_V;
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
        if (CubinReader.isCubin(file)) {
            return CubinReader.read(file);
        }
        if (IntelProgramReader.isIntelProgram(file) && depth > 0) {
            return IntelProgramReader.read(file, depth - 1);
        }
        if (ZebinReader.isZebin(file)) {
            return ZebinReader.read(file);
        }
        return new Unrecognized("an ELF file of type 0x" + Integer.toHexString(file.type())
                + " for machine " + file.machine());
    }

    private static Unrecognized unrecognized(ContainerBytes bytes) {
        if (bytes.length() == 0) {
            return new Unrecognized("it is empty");
        }
        return new Unrecognized("it begins with "
                + HexFormat.of().formatHex(bytes.text(SHOWN_BYTES).getBytes(ISO_8859_1)));
    }
}
