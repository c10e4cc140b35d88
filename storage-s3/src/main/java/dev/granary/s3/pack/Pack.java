package dev.granary.s3.pack;

/** A finished pack: its bytes, and what a manifest says of it. Immutable; the bytes must not be changed. */
public final class Pack {
    private final byte[] body;
    private final PackInfo info;

    Pack(byte[] body, PackInfo info) {
        this.body = body;
        this.info = info;
    }

    /** The object's bytes; not a copy. */
    byte[] body() {
        return body;
    }

    /** What a manifest says of it. */
    public PackInfo info() {
        return info;
    }
}
