package dev.granary.gpu.spirv;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/** Modules of SPIR-V that differ from a real one in an instruction. */
public final class SpirvModules {
    /** The opcode of an entry point, whose name begins in its fourth word. */
    private static final int ENTRY_POINT = 15;

    private static final int NAME_INDEX = 3;

    /** The opcode of a store. */
    public static final int STORE = 62;

    private static final int HEADER_BYTES = 20;
    private static final int WORDS_SHIFT = 16;

    private SpirvModules() {}

    private static ByteBuffer words(byte[] module) {
        return ByteBuffer.wrap(module).order(ByteOrder.LITTLE_ENDIAN);
    }

    /** Returns the position of the first instruction of that opcode. */
    private static int position(byte[] module, int opcode) {
        for (int at = HEADER_BYTES; at < module.length; at += length(module, at)) {
            if ((words(module).getInt(at) & 0xffff) == opcode) {
                return at;
            }
        }
        throw new AssertionError("The module has no instruction of opcode " + opcode);
    }

    private static int length(byte[] module, int at) {
        return (words(module).getInt(at) >>> WORDS_SHIFT) * Integer.BYTES;
    }

    /** Returns the module with another name of its first kernel. */
    public static byte[] ofOtherKernel(byte[] module) {
        return withWord(module, ENTRY_POINT, NAME_INDEX, 'x' | 'y' << 8 | 'z' << 16 | 'u' << 24);
    }

    /** Returns the module with another word in its first instruction of that opcode. */
    public static byte[] withWord(byte[] module, int opcode, int index, int word) {
        byte[] changed = module.clone();
        words(changed).putInt(position(module, opcode) + index * Integer.BYTES, word);
        return changed;
    }
}
