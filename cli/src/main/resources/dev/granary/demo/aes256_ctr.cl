/*
 * AES-256 in counter mode (FIPS 197, NIST SP 800-38A): `expand_key` makes the 15 round keys in one
 * work-item, then each work-item of `encrypt_counter` makes one block of key stream; the last block
 * may be cut off. Encrypting and decrypting are the same.
 */
#define ROUNDS 14
#define KEY_WORDS 8
#define SCHEDULE_BYTES (16 * (ROUNDS + 1))

/* The inverse in GF(2^8) followed by the affine map of FIPS 197, section 5.1.1. */
__constant uchar SUBSTITUTE[256] = {
    0x63, 0x7c, 0x77, 0x7b, 0xf2, 0x6b, 0x6f, 0xc5, 0x30, 0x01, 0x67, 0x2b, 0xfe, 0xd7, 0xab, 0x76,
    0xca, 0x82, 0xc9, 0x7d, 0xfa, 0x59, 0x47, 0xf0, 0xad, 0xd4, 0xa2, 0xaf, 0x9c, 0xa4, 0x72, 0xc0,
    0xb7, 0xfd, 0x93, 0x26, 0x36, 0x3f, 0xf7, 0xcc, 0x34, 0xa5, 0xe5, 0xf1, 0x71, 0xd8, 0x31, 0x15,
    0x04, 0xc7, 0x23, 0xc3, 0x18, 0x96, 0x05, 0x9a, 0x07, 0x12, 0x80, 0xe2, 0xeb, 0x27, 0xb2, 0x75,
    0x09, 0x83, 0x2c, 0x1a, 0x1b, 0x6e, 0x5a, 0xa0, 0x52, 0x3b, 0xd6, 0xb3, 0x29, 0xe3, 0x2f, 0x84,
    0x53, 0xd1, 0x00, 0xed, 0x20, 0xfc, 0xb1, 0x5b, 0x6a, 0xcb, 0xbe, 0x39, 0x4a, 0x4c, 0x58, 0xcf,
    0xd0, 0xef, 0xaa, 0xfb, 0x43, 0x4d, 0x33, 0x85, 0x45, 0xf9, 0x02, 0x7f, 0x50, 0x3c, 0x9f, 0xa8,
    0x51, 0xa3, 0x40, 0x8f, 0x92, 0x9d, 0x38, 0xf5, 0xbc, 0xb6, 0xda, 0x21, 0x10, 0xff, 0xf3, 0xd2,
    0xcd, 0x0c, 0x13, 0xec, 0x5f, 0x97, 0x44, 0x17, 0xc4, 0xa7, 0x7e, 0x3d, 0x64, 0x5d, 0x19, 0x73,
    0x60, 0x81, 0x4f, 0xdc, 0x22, 0x2a, 0x90, 0x88, 0x46, 0xee, 0xb8, 0x14, 0xde, 0x5e, 0x0b, 0xdb,
    0xe0, 0x32, 0x3a, 0x0a, 0x49, 0x06, 0x24, 0x5c, 0xc2, 0xd3, 0xac, 0x62, 0x91, 0x95, 0xe4, 0x79,
    0xe7, 0xc8, 0x37, 0x6d, 0x8d, 0xd5, 0x4e, 0xa9, 0x6c, 0x56, 0xf4, 0xea, 0x65, 0x7a, 0xae, 0x08,
    0xba, 0x78, 0x25, 0x2e, 0x1c, 0xa6, 0xb4, 0xc6, 0xe8, 0xdd, 0x74, 0x1f, 0x4b, 0xbd, 0x8b, 0x8a,
    0x70, 0x3e, 0xb5, 0x66, 0x48, 0x03, 0xf6, 0x0e, 0x61, 0x35, 0x57, 0xb9, 0x86, 0xc1, 0x1d, 0x9e,
    0xe1, 0xf8, 0x98, 0x11, 0x69, 0xd9, 0x8e, 0x94, 0x9b, 0x1e, 0x87, 0xe9, 0xce, 0x55, 0x28, 0xdf,
    0x8c, 0xa1, 0x89, 0x0d, 0xbf, 0xe6, 0x42, 0x68, 0x41, 0x99, 0x2d, 0x0f, 0xb0, 0x54, 0xbb, 0x16,
};

__kernel void expand_key(__global const uchar *key, __global uchar *schedule)
{
    for (uint i = 0; i < 4 * KEY_WORDS; i++) {
        schedule[i] = key[i];
    }
    uchar round_constant = 1;
    for (uint word = KEY_WORDS; word < 4 * (ROUNDS + 1); word++) {
        uchar last[4];
        for (uint i = 0; i < 4; i++) {
            last[i] = schedule[4 * (word - 1) + i];
        }
        if (word % KEY_WORDS == 0) {
            const uchar first = last[0];
            last[0] = SUBSTITUTE[last[1]] ^ round_constant;
            last[1] = SUBSTITUTE[last[2]];
            last[2] = SUBSTITUTE[last[3]];
            last[3] = SUBSTITUTE[first];
            round_constant <<= 1;
        } else if (word % KEY_WORDS == 4) {
            for (uint i = 0; i < 4; i++) {
                last[i] = SUBSTITUTE[last[i]];
            }
        }
        for (uint i = 0; i < 4; i++) {
            schedule[4 * word + i] = schedule[4 * (word - KEY_WORDS) + i] ^ last[i];
        }
    }
}

static inline uchar times_two(uchar a)
{
    return (uchar) ((a << 1) ^ ((a >> 7) * 0x1b));
}

static inline void add_round_key(__private uchar *state, __global const uchar *schedule, uint round)
{
    for (uint i = 0; i < 16; i++) {
        state[i] ^= schedule[16 * round + i];
    }
}

/* Substitutes each byte and rotates row r of the state, which lies in columns, by r places. */
static inline void substitute_and_shift(__private uchar *state)
{
    uchar from[16];
    for (uint i = 0; i < 16; i++) {
        from[i] = SUBSTITUTE[state[i]];
    }
    for (uint column = 0; column < 4; column++) {
        for (uint row = 0; row < 4; row++) {
            state[4 * column + row] = from[4 * ((column + row) % 4) + row];
        }
    }
}

static inline void mix_columns(__private uchar *state)
{
    for (uint column = 0; column < 4; column++) {
        __private uchar *s = state + 4 * column;
        const uchar first = s[0];
        const uchar all = s[0] ^ s[1] ^ s[2] ^ s[3];
        s[0] ^= all ^ times_two(s[0] ^ s[1]);
        s[1] ^= all ^ times_two(s[1] ^ s[2]);
        s[2] ^= all ^ times_two(s[2] ^ s[3]);
        s[3] ^= all ^ times_two(s[3] ^ first);
    }
}

static inline void encrypt_block(__private uchar *state, __global const uchar *schedule)
{
    add_round_key(state, schedule, 0);
    for (uint round = 1; round < ROUNDS; round++) {
        substitute_and_shift(state);
        mix_columns(state);
        add_round_key(state, schedule, round);
    }
    substitute_and_shift(state);
    add_round_key(state, schedule, ROUNDS);
}

/* Adds `block` to the counter, a number of 128 bits with its highest byte first. */
static inline void load_counter(__global const uchar *counter, uint block, __private uchar *state)
{
    uint carry = block;
    for (int i = 15; i >= 0; i--) {
        const uint sum = counter[i] + (carry & 0xff);
        state[i] = (uchar) sum;
        carry = (carry >> 8) + (sum >> 8);
    }
}

__kernel void encrypt_counter(__global const uchar *schedule, __global const uchar *counter, __global const uchar *text,
                              __global uchar *result, const uint length)
{
    const uint start = get_global_id(0) * 16;
    if (start >= length) {
        return;
    }
    uchar state[16];
    load_counter(counter, get_global_id(0), state);
    encrypt_block(state, schedule);
    for (uint i = 0; i < 16 && start + i < length; i++) {
        result[start + i] = text[start + i] ^ state[i];
    }
}
