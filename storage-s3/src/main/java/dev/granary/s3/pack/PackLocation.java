package dev.granary.s3.pack;

import dev.granary.cache.Sha256;

/**
 * Where an entry lies in a pack.
 *
 * @param id the hash of the entry's id
 * @param offset where it begins, counted from the beginning of the pack
 * @param length how many bytes it has
 * @param checksum the CRC-32C of those bytes
 * @param compileNanos what compiling it cost, in nanoseconds
 */
public record PackLocation(Sha256 id, long offset, int length, int checksum, long compileNanos) {
    /** Where it ends. */
    public long end() {
        return offset + length;
    }
}
