package dev.granary.gpu.binary;

import dev.granary.gpu.binary.BinaryContainer.SpirV;

import java.lang.foreign.MemorySegment;
import java.util.HashSet;
import java.util.Optional;
import java.util.Set;
import java.util.SortedSet;
import java.util.TreeSet;

/**
 * Reader of SPIR-V modules: the header, and the lengths of all instructions. A module is a sequence
 * of words; each instruction begins with its opcode and its number of words. The words are
 * little-endian here; a big-endian module is recognized, and malformed.
 *
 * <p>The source of the layout is the SPIR-V specification, section 2.3.
 */
public final class SpirVReader {
    private static final int MAGIC = 0x0723_0203;
    private static final int HEADER_BYTES = 20;

    // opcodes, and the execution model of kernels
    private static final int MEMORY_MODEL = 14;
    private static final int ENTRY_POINT = 15;
    private static final int CAPABILITY = 17;
    private static final int FUNCTION = 54;
    private static final int FUNCTION_END = 56;
    private static final int KERNEL = 6;

    /** The position of the number of an entry point's function, and of a function's own. */
    private static final int NUMBER_AT = 8;

    /** The bytes of an entry point before its name: the first word, the model and a number. */
    private static final int NAME_AT = 12;

    private SpirVReader() {}

    /** Returns true if the bytes begin as a module of either byte order. Safe for any bytes. */
    public static boolean isSpirV(MemorySegment module) {
        try {
            return isSpirV(new ContainerBytes(module));
        } catch (MalformedContainerException e) {
            return false;
        }
    }

    static boolean isSpirV(ContainerBytes bytes) throws MalformedContainerException {
        return bytes.length() >= Integer.BYTES
                && (bytes.signedInt(0) == MAGIC || isBigEndian(bytes));
    }

    /** Returns true if the bytes begin as a big-endian module. Safe for any bytes. */
    public static boolean isBigEndian(MemorySegment module) {
        ContainerBytes bytes = new ContainerBytes(module);
        try {
            return bytes.length() >= Integer.BYTES && isBigEndian(bytes);
        } catch (MalformedContainerException e) {
            return false;
        }
    }

    private static boolean isBigEndian(ContainerBytes bytes) throws MalformedContainerException {
        return Integer.reverseBytes(bytes.signedInt(0)) == MAGIC;
    }

    /** Returns the container of a module. */
    static SpirV read(ContainerBytes bytes) throws MalformedContainerException {
        if (isBigEndian(bytes)) {
            throw new MalformedContainerException("its words are big-endian");
        }
        long end = bytes.length();
        if (end < HEADER_BYTES || end % Integer.BYTES != 0) {
            throw new MalformedContainerException(
                    end + " bytes, which is no header and a number of words");
        }
        for (long at = HEADER_BYTES; at < end; at = next(bytes, at)) {
            // each length is checked
        }
        return new SpirV(bytes.unsignedByte(6), bytes.unsignedByte(5));
    }

    /**
     * Returns the defect for which no driver should get a module, in one line; empty if there is
     * none. Safe for any bytes: it throws nothing, and allocates in proportion to them at most.
     */
    public static Optional<String> defect(MemorySegment module) {
        ContainerBytes bytes = new ContainerBytes(module);
        try {
            return isSpirV(bytes) ? defect(bytes) : Optional.of("it is no SPIR-V");
        } catch (MalformedContainerException e) {
            return Optional.of(String.valueOf(e.getMessage()));
        }
    }

    private static Optional<String> defect(ContainerBytes bytes)
            throws MalformedContainerException {
        read(bytes);
        if (bytes.unsignedByte(7) != 0
                || bytes.unsignedByte(4) != 0
                || bytes.unsignedByte(6) != 1) {
            return Optional.of("its version is no version 1");
        }
        if (bytes.signedInt(12) <= 0 || bytes.signedInt(16) != 0) {
            return Optional.of("its bound of numbers or its schema is wrong");
        }
        boolean hasMemoryModel = false;
        boolean isInFunction = false;
        Set<Integer> entryPoints = new HashSet<>();
        Set<Integer> functions = new HashSet<>();
        for (long at = HEADER_BYTES; at < bytes.length(); at = next(bytes, at)) {
            int opcode = opcode(bytes, at);
            if (at == HEADER_BYTES && opcode != CAPABILITY) {
                return Optional.of("it does not begin with a capability");
            }
            if (opcode == (isInFunction ? FUNCTION : FUNCTION_END)) {
                return Optional.of("its functions are not one after the other");
            }
            hasMemoryModel |= opcode == MEMORY_MODEL;
            isInFunction = opcode == FUNCTION || (isInFunction && opcode != FUNCTION_END);
            if (opcode == ENTRY_POINT) {
                entryPoints.add(bytes.signedInt(at + NUMBER_AT));
            } else if (opcode == FUNCTION) {
                functions.add(bytes.signedInt(at + NUMBER_AT));
            }
        }
        if (isInFunction) {
            return Optional.of("its last function has no end");
        }
        if (entryPoints.isEmpty() || !functions.containsAll(entryPoints)) {
            return Optional.of("it has no kernel, or a kernel without a function");
        }
        return hasMemoryModel ? Optional.empty() : Optional.of("it has no memory model");
    }

    /** Returns the names of the kernels. */
    static SortedSet<String> kernels(ContainerBytes bytes) throws MalformedContainerException {
        read(bytes);
        SortedSet<String> names = new TreeSet<>();
        for (long at = HEADER_BYTES; at < bytes.length(); at = next(bytes, at)) {
            long end = next(bytes, at);
            if (opcode(bytes, at) == ENTRY_POINT
                    && end - at > NAME_AT
                    && bytes.signedInt(at + Integer.BYTES) == KERNEL) {
                names.add(bytes.part(at + NAME_AT, end - at - NAME_AT).textBeforeNul());
            }
        }
        return names;
    }

    private static int opcode(ContainerBytes bytes, long at) throws MalformedContainerException {
        return bytes.unsignedShort(at);
    }

    /** Returns the end of the instruction at {@code at}. */
    private static long next(ContainerBytes bytes, long at) throws MalformedContainerException {
        int words = bytes.unsignedShort(at + Short.BYTES);
        long end = at + (long) words * Integer.BYTES;
        if (words == 0 || end > bytes.length()) {
            throw new MalformedContainerException("an instruction of " + words + " words at byte "
                    + at + " of " + bytes.length());
        }
        return end;
    }
}
