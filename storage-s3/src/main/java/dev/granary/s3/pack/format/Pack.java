package dev.granary.s3.pack.format;

/**
 * A finished pack: its bytes and its row in a manifest. Immutable; the bytes must not be changed.
 */
public final class Pack {
    private final byte[] body;
    private final PackInfo info;

    Pack(byte[] body, PackInfo info) {
        this.body = body;
        this.info = info;
    }

    /** Returns the object's bytes; not a copy. */
    public byte[] body() {
        return body;
    }

    /** Returns its row in a manifest. */
    public PackInfo info() {
        return info;
    }
}
