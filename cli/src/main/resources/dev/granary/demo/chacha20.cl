/*
 * Encrypts or decrypts with ChaCha20 (RFC 8439): each work-item makes one block of 64 bytes of key
 * stream; the last may be cut off.
 */
#include "bits.clh"

#ifndef DOUBLE_ROUNDS
#define DOUBLE_ROUNDS 10
#endif

#define QUARTER(a, b, c, d)                      \
    do {                                         \
        a += b; d = rotated_left(d ^ a, 16);     \
        c += d; b = rotated_left(b ^ c, 12);     \
        a += b; d = rotated_left(d ^ a, 8);      \
        c += d; b = rotated_left(b ^ c, 7);      \
    } while (0)

__kernel void chacha20(__global const uchar *key, __global const uchar *nonce, const uint counter, __global const uchar *text,
                       __global uchar *result, const uint length)
{
    const uint block = get_global_id(0);
    const uint start = block * 64;
    if (start >= length) {
        return;
    }
    uint state[16] = {0x61707865, 0x3320646e, 0x79622d32, 0x6b206574};
    for (uint i = 0; i < 8; i++) {
        state[4 + i] = little_endian(key + 4 * i);
    }
    state[12] = counter + block;
    for (uint i = 0; i < 3; i++) {
        state[13 + i] = little_endian(nonce + 4 * i);
    }

    uint x[16];
    for (uint i = 0; i < 16; i++) {
        x[i] = state[i];
    }
    for (uint round = 0; round < DOUBLE_ROUNDS; round++) {
        QUARTER(x[0], x[4], x[8], x[12]);
        QUARTER(x[1], x[5], x[9], x[13]);
        QUARTER(x[2], x[6], x[10], x[14]);
        QUARTER(x[3], x[7], x[11], x[15]);
        QUARTER(x[0], x[5], x[10], x[15]);
        QUARTER(x[1], x[6], x[11], x[12]);
        QUARTER(x[2], x[7], x[8], x[13]);
        QUARTER(x[3], x[4], x[9], x[14]);
    }
    for (uint i = 0; i < 64 && start + i < length; i++) {
        const uint word = x[i / 4] + state[i / 4];
        result[start + i] = text[start + i] ^ (uchar) (word >> (8 * (i % 4)));
    }
}
