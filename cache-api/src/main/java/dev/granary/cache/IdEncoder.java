package dev.granary.cache;

import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;

/** Writes framed fields: four big-endian bytes of length before the bytes of each, so that no byte can move over a border unseen. */
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
