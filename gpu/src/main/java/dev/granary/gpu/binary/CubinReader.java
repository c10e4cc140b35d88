package dev.granary.gpu.binary;

import dev.granary.gpu.binary.BinaryContainer.Cubin;
import dev.granary.gpu.binary.BinaryContainer.Unrecognized;
import dev.granary.gpu.device.CudaArchitecture;

/** Reader of NVIDIA's machine code: the architecture is in the flags of the ELF header. */
final class CubinReader {
    private static final int CUDA_MACHINE = 190;

    // The ABI of compilers up to 12 has the architecture in the lowest byte, that of 13 in the
    // next.
    private static final int OLD_ABI = 7;
    private static final int ABI = 8;

    private CubinReader() {}

    static boolean isCubin(ElfFile file) {
        return file.machine() == CUDA_MACHINE;
    }

    static BinaryContainer read(ElfFile file) {
        return switch (file.abiVersion()) {
            case OLD_ABI -> cubin(file.flags() & 0xff);
            case ABI -> cubin((file.flags() >>> 8) & 0xff);
            default -> new Unrecognized("an NVIDIA cubin of ABI version " + file.abiVersion());
        };
    }

    private static Cubin cubin(int architecture) {
        return new Cubin(new CudaArchitecture(architecture, ""));
    }
}
