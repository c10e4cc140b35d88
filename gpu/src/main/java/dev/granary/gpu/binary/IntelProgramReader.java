package dev.granary.gpu.binary;

import dev.granary.gpu.binary.BinaryContainer.IntelProgram;
import dev.granary.gpu.binary.BinaryContainer.Unrecognized;

/** Reader of Intel's ELF file around device code. */
final class IntelProgramReader {
    private static final int FIRST_TYPE = 0xff01;
    private static final int LAST_TYPE = 0xff05;
    // types of sections
    private static final int LLVM = 0xff00_0003;
    private static final int DEVICE_CODE = 0xff00_0005;
    private static final int SPIR_V = 0xff00_0009;

    private IntelProgramReader() {}

    static boolean isIntelProgram(ElfFile file) {
        return file.type() >= FIRST_TYPE && file.type() <= LAST_TYPE;
    }

    static IntelProgram read(ElfFile file, int depth) throws MalformedContainerException {
        BinaryContainer device = new Unrecognized("it has no device code");
        boolean hasIntermediate = false;
        for (int i = 0; i < file.sectionCount(); i++) {
            ElfFile.Section section = file.section(i);
            switch (section.type()) {
                case DEVICE_CODE -> device = ContainerReader.read(file.content(section), depth);
                case SPIR_V, LLVM -> hasIntermediate |= file.content(section).length() > 0;
                default -> {}
            }
        }
        return new IntelProgram(device, hasIntermediate);
    }
}
