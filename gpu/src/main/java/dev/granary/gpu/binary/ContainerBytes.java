package dev.granary.gpu.binary;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;

/**
 * Little-endian bytes of a container, or of a part of it. Each read checks its bounds. Parts share
 * the memory of the container; only {@link #text} copies, and never more than its limit.
 */
final class ContainerBytes {
    private static final int PRINTED_LIMIT = 128;
    private static final int NAME_LIMIT = 1_000;
    private static final ValueLayout.OfShort SHORT =
            ValueLayout.JAVA_SHORT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
    private static final ValueLayout.OfInt INT =
            ValueLayout.JAVA_INT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
    private static final ValueLayout.OfLong LONG =
            ValueLayout.JAVA_LONG_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);

    private final MemorySegment bytes;
    private final long start; // in the container, for messages

    ContainerBytes(MemorySegment bytes) {
        this(bytes, 0);
    }

    private ContainerBytes(MemorySegment bytes, long start) {
        this.bytes = bytes;
        this.start = start;
    }

    long length() {
        return bytes.byteSize();
    }

    /** Returns true if the first bytes are the characters of {@code magic}. */
    boolean startsWith(String magic) {
        if (bytes.byteSize() < magic.length()) {
            return false;
        }
        for (int i = 0; i < magic.length(); i++) {
            if ((bytes.get(ValueLayout.JAVA_BYTE, i) & 0xff) != magic.charAt(i)) {
                return false;
            }
        }
        return true;
    }

    int unsignedByte(long at) throws MalformedContainerException {
        check(at, Byte.BYTES);
        return bytes.get(ValueLayout.JAVA_BYTE, at) & 0xff;
    }

    int unsignedShort(long at) throws MalformedContainerException {
        check(at, Short.BYTES);
        return bytes.get(SHORT, at) & 0xffff;
    }

    int signedInt(long at) throws MalformedContainerException {
        check(at, Integer.BYTES);
        return bytes.get(INT, at);
    }

    long unsignedInt(long at) throws MalformedContainerException {
        return signedInt(at) & 0xffff_ffffL;
    }

    /**
     * Returns the number in 8 bytes. An unsigned one of 2<sup>63</sup> or more is negative, so that
     * it fails the check of bounds if it is used as an offset or a length.
     */
    long signedLong(long at) throws MalformedContainerException {
        check(at, Long.BYTES);
        return bytes.get(LONG, at);
    }

    /** Returns a part, without a copy. */
    ContainerBytes part(long at, long length) throws MalformedContainerException {
        check(at, length);
        return new ContainerBytes(bytes.asSlice(at, length), start + at);
    }

    /** Returns the bytes from {@code at} to the end, without a copy. */
    ContainerBytes from(long at) throws MalformedContainerException {
        return part(at, bytes.byteSize() - at);
    }

    /** Returns true if the characters of {@code text} and a NUL are at {@code at}. */
    boolean isTerminatedText(long at, String text) {
        if (at < 0 || at > bytes.byteSize() - text.length() - 1) {
            return false;
        }
        for (int i = 0; i < text.length(); i++) {
            if ((bytes.get(ValueLayout.JAVA_BYTE, at + i) & 0xff) != text.charAt(i)) {
                return false;
            }
        }
        return bytes.get(ValueLayout.JAVA_BYTE, at + text.length()) == 0;
    }

    /**
     * Returns the first {@code limit} bytes, or all if there are fewer, as ISO 8859-1 characters.
     */
    String text(int limit) {
        byte[] copy =
                bytes.asSlice(0, Math.min(limit, bytes.byteSize())).toArray(ValueLayout.JAVA_BYTE);
        return new String(copy, ISO_8859_1);
    }

    /** Returns the characters before the first NUL, at most {@value #NAME_LIMIT}. */
    String textBeforeNul() {
        String text = text(NAME_LIMIT);
        int end = text.indexOf('\0');
        return end < 0 ? text : text.substring(0, end);
    }

    /**
     * Returns a text of a container, made safe for a message of one line: with a question mark for
     * each character other than printable ASCII, and the first {@value #PRINTED_LIMIT} characters
     * only.
     */
    static String printable(String text) {
        StringBuilder safe = new StringBuilder(Math.min(text.length(), PRINTED_LIMIT));
        for (int i = 0; i < text.length() && i < PRINTED_LIMIT; i++) {
            char c = text.charAt(i);
            safe.append(c >= ' ' && c <= '~' ? c : '?');
        }
        return safe.toString();
    }

    private void check(long at, long length) throws MalformedContainerException {
        if (at < 0 || length < 0 || at > bytes.byteSize() - length) {
            throw new MalformedContainerException("a field of " + Long.toUnsignedString(length)
                    + " bytes at byte " + Long.toUnsignedString(start + at)
                    + " exceeds the " + bytes.byteSize() + " bytes from byte " + start);
        }
    }
}
