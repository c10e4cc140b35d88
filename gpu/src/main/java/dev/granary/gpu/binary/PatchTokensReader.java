package dev.granary.gpu.binary;

import dev.granary.gpu.binary.BinaryContainer.PatchTokens;

/** Reader of the header of Intel's device code with patch tokens. */
final class PatchTokensReader {
    static final String MAGIC = "CTNI";

    private static final int HEADER_BYTES = 28;

    private PatchTokensReader() {}

    static PatchTokens read(ContainerBytes bytes) throws MalformedContainerException {
        ContainerBytes header = bytes.part(0, HEADER_BYTES);
        bytes.part(HEADER_BYTES, header.unsignedInt(24)); // the tokens of the program
        return new PatchTokens(
                header.signedInt(4),
                header.signedInt(8),
                header.signedInt(20),
                header.signedInt(12),
                header.unsignedInt(16));
    }
}
