package dev.granary.gpu.binary;

import java.lang.foreign.MemorySegment;
import java.util.Optional;
import java.util.SortedSet;
import java.util.TreeSet;

/**
 * Reader of the names of kernels in Intel's device code and in SPIR-V. Patch tokens have them in a
 * header for each kernel, a zebin as names of sections, SPIR-V as entry points.
 */
public final class DeviceKernels {
    // types of sections
    private static final int PROGRAM_CODE = 0xff00_0005;
    private static final int PROGRAM_BITS = 1;

    private static final String CODE = ".text.";

    /** Device code of no kernel, which has the addresses of functions. */
    private static final String SYMBOL_TABLE = "Intel_Symbol_Table_Void_Program";

    private static final int PROGRAM_HEADER_BYTES = 28;
    private static final int KERNEL_HEADER_BYTES = 40;

    private DeviceKernels() {}

    /** Returns the names in a binary; empty if its container is another one, or malformed. */
    public static Optional<SortedSet<String>> of(MemorySegment binary) {
        try {
            return read(new ContainerBytes(binary));
        } catch (MalformedContainerException e) {
            return Optional.empty();
        }
    }

    private static Optional<SortedSet<String>> read(ContainerBytes bytes)
            throws MalformedContainerException {
        if (bytes.startsWith(ContainerReader.PATCH_TOKENS)) {
            return Optional.of(ofPatchTokens(bytes));
        }
        if (SpirVReader.isSpirV(bytes)) {
            return Optional.of(SpirVReader.kernels(bytes));
        }
        if (!bytes.startsWith(ElfFile.MAGIC)) {
            return Optional.empty();
        }
        ElfFile file = ElfFile.read(bytes);
        if (ZebinReader.isZebin(file)) {
            return Optional.of(ofZebin(file));
        }
        if (ContainerReader.isIntelProgram(file)) {
            for (int i = 0; i < file.sectionCount(); i++) {
                ElfFile.Section section = file.section(i);
                if (section.type() == PROGRAM_CODE) {
                    ContainerBytes code = file.content(section);
                    return code.startsWith(ContainerReader.PATCH_TOKENS)
                            ? Optional.of(ofPatchTokens(code))
                            : Optional.empty();
                }
            }
        }
        return Optional.empty();
    }

    /** Reads the headers of kernels, each followed by its name, four heaps and its tokens. */
    private static SortedSet<String> ofPatchTokens(ContainerBytes code)
            throws MalformedContainerException {
        SortedSet<String> names = new TreeSet<>();
        long kernels = code.unsignedInt(16);
        long at = PROGRAM_HEADER_BYTES + code.unsignedInt(24);
        for (long i = 0; i < kernels; i++) {
            long nameBytes = code.unsignedInt(at + 12);
            names.add(code.part(at + KERNEL_HEADER_BYTES, nameBytes).textBeforeNul());
            at += KERNEL_HEADER_BYTES
                    + nameBytes
                    + code.unsignedInt(at + 16)
                    + code.unsignedInt(at + 20)
                    + code.unsignedInt(at + 24)
                    + code.unsignedInt(at + 28)
                    + code.unsignedInt(at + 32);
        }
        return names;
    }

    private static SortedSet<String> ofZebin(ElfFile file) throws MalformedContainerException {
        SortedSet<String> names = new TreeSet<>();
        for (int i = 0; i < file.sectionCount(); i++) {
            ElfFile.Section section = file.section(i);
            if (section.type() == PROGRAM_BITS) {
                String name = file.names().from(section.name()).textBeforeNul();
                if (name.startsWith(CODE) && !name.equals(CODE + SYMBOL_TABLE)) {
                    names.add(name.substring(CODE.length()));
                }
            }
        }
        return names;
    }
}
