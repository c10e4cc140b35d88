package dev.granary.cache;

import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;

/**
 * An encoder of framed fields: each field is preceded by its length as four big-endian bytes, so
 * that field boundaries are unambiguous.
 */
final class IdEncoder {
    private final ByteArrayOutputStream out = new ByteArrayOutputStream(256);

    IdEncoder raw(byte[] bytes) {
        out.writeBytes(bytes);
        return this;
    }

    IdEncoder bytes(byte[] bytes) {
        out.writeBytes(ByteBuffer.allocate(Integer.BYTES).putInt(bytes.length).array());
        out.writeBytes(bytes);
        return this;
    }

    byte[] toByteArray() {
        return out.toByteArray();
    }

    static byte[] longBytes(long value) {
        return ByteBuffer.allocate(Long.BYTES).putLong(value).array();
    }
}
