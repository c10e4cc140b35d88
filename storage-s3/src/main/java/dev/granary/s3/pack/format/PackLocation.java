package dev.granary.s3.pack.format;

import dev.granary.cache.Sha256;

/**
 * The location of an entry in a pack.
 *
 * @param id the hash of the entry's id
 * @param offset its start, counted from the start of the pack
 * @param length its length in bytes
 * @param checksum the CRC-32C of those bytes
 * @param compileNanos the time that compiling it took, in nanoseconds
 */
public record PackLocation(Sha256 id, long offset, int length, int checksum, long compileNanos) {
    /** Returns the end of the entry, exclusive. */
    public long end() {
        return offset + length;
    }
}
