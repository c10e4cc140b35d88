/*
 * SHA-256 of many independent messages, one for each work-item. The messages lie one after another;
 * message i has the bytes from starts[i] to starts[i + 1], at most 2^29 - 1 of them.
 */
#include "sha_256.clh"

/*
 * Byte `i` of the padded message: the message, a one bit, zeros, and the length in bits as eight
 * bytes.
 */
static inline uchar padded_byte(__global const uchar *message, uint length, uint padded, uint i)
{
    if (i < length) {
        return message[i];
    }
    if (i == length) {
        return 0x80;
    }
    return padded - i <= 4 ? (uchar) ((length * 8) >> (8 * (padded - i - 1))) : 0;
}

__kernel void sha256(__global const uchar *messages, __global const uint *starts, const uint count, __global uchar *digests)
{
    const uint i = get_global_id(0);
    if (i >= count) {
        return;
    }
    __global const uchar *message = messages + starts[i];
    const uint length = starts[i + 1] - starts[i];
    const uint padded = (length + 9 + 63) / 64 * 64;

    uint state[8];
    for (uint word = 0; word < 8; word++) {
        state[word] = SHA256_START[word];
    }
    for (uint block_start = 0; block_start < padded; block_start += 64) {
        uchar block[64];
        for (uint byte = 0; byte < 64; byte++) {
            block[byte] = padded_byte(message, length, padded, block_start + byte);
        }
        sha256_compress(state, block);
    }
    for (uint word = 0; word < 8; word++) {
        store_big_endian(state[word], digests + 32 * i + 4 * word);
    }
}
