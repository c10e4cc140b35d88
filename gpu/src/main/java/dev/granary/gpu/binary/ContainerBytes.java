package dev.granary.gpu.binary;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/**
 * Little-endian bytes of a container, or of a part of it. Each read checks its bounds. Parts share
 * the memory of the container; only {@link #text} copies, and never more than its limit.
 */
final class ContainerBytes {
    private static final long LIMIT = 1 << 30; // of an entry
    private static final int PRINTED_LIMIT = 128;
    private static final int NAME_LIMIT = 1_000;

    // not a segment: linking its accessors takes the first restore of a process milliseconds
    private final ByteBuffer bytes;
    private final long start; // in the container, for messages

    /** Creates the bytes of a container, without those that no entry can have. */
    ContainerBytes(MemorySegment bytes) {
        this(bytes.asSlice(0, Math.min(bytes.byteSize(), LIMIT)).asByteBuffer(), 0);
    }

    private ContainerBytes(ByteBuffer bytes, long start) {
        this.bytes = bytes.order(ByteOrder.LITTLE_ENDIAN);
        this.start = start;
    }

    long length() {
        return bytes.limit();
    }

    /** Returns true if the first bytes are the characters of {@code magic}. */
    boolean startsWith(String magic) {
        if (length() < magic.length()) {
            return false;
        }
        for (int i = 0; i < magic.length(); i++) {
            if ((bytes.get(i) & 0xff) != magic.charAt(i)) {
                return false;
            }
        }
        return true;
    }

    int unsignedByte(long at) throws MalformedContainerException {
        check(at, Byte.BYTES);
        return bytes.get((int) at) & 0xff;
    }

    int unsignedShort(long at) throws MalformedContainerException {
        check(at, Short.BYTES);
        return bytes.getShort((int) at) & 0xffff;
    }

    int signedInt(long at) throws MalformedContainerException {
        check(at, Integer.BYTES);
        return bytes.getInt((int) at);
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
        return bytes.getLong((int) at);
    }

    /** Returns a part, without a copy. */
    ContainerBytes part(long at, long length) throws MalformedContainerException {
        check(at, length);
        return new ContainerBytes(bytes.slice((int) at, (int) length), start + at);
    }

    /** Returns the offset after a part, without reading it. */
    long end(long at, long length) throws MalformedContainerException {
        check(at, length);
        return at + length;
    }

    /** Returns the bytes from {@code at} to the end, without a copy. */
    ContainerBytes from(long at) throws MalformedContainerException {
        return part(at, length() - at);
    }

    /** Returns true if the characters of {@code text} and a NUL are at {@code at}. */
    boolean isTerminatedText(long at, String text) {
        if (at < 0 || at > length() - text.length() - 1) {
            return false;
        }
        for (int i = 0; i < text.length(); i++) {
            if ((bytes.get((int) at + i) & 0xff) != text.charAt(i)) {
                return false;
            }
        }
        return bytes.get((int) at + text.length()) == 0;
    }

    /**
     * Returns the first {@code limit} bytes, or all if there are fewer, as ISO 8859-1 characters.
     */
    String text(int limit) {
        return text(0, (int) Math.min(limit, length()));
    }

    /** Returns the characters of a part that was checked by {@link #end}, as ISO 8859-1. */
    String text(long at, int length) {
        byte[] copy = new byte[length];
        bytes.get((int) at, copy);
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
        if (at < 0 || length < 0 || at > length() - length) {
            throw new MalformedContainerException("a field of " + Long.toUnsignedString(length)
                    + " bytes at byte " + Long.toUnsignedString(start + at)
                    + " exceeds the " + length() + " bytes from byte " + start);
        }
    }
}
