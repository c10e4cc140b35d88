// gemm: C[i, j] += A[i, k] * B[k, j]
// Loops: i < 64 by 8 (group-y), j < 64 by 8 (group-x), k < 64 by 32, ii < 8 (item-y), jj < 8
// (item-x), kk < 32
__kernel __attribute__((reqd_work_group_size(8, 8, 1)))
void gemm(
        __global const char *A,
        __global const char *B,
        __global char *C) {
    __local char A_local[256];
    __local ushort B_local[512];
    int C_private[1];
    const int j = (int) get_group_id(0) * 8;
    const int i = (int) get_group_id(1) * 8;
    const int jj = (int) get_local_id(0);
    const int ii = (int) get_local_id(1);
    const int item = (int) (get_local_id(0) + get_local_id(1) * 8);
    // Copy B_local, 32 x 8 elements for each k, by 64 work-items, striped
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int p = item; p < 512; p += 64) {
        const int k = p / 256 * 32;
        const int c0 = p / 8 % 32;
        const int c1 = p % 8;
        vstore_half((float) (B[(c0 + k) * 64 + c1 + j]), k / 32 * 256 + c0 * 8 + c1, (__local half *) B_local);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    // Clear C_private, 1 x 1 elements
    C_private[0] = 0;
    for (int k = 0; k < 64; k += 32) {
        // Copy A_local, 8 x 32 elements, by 64 work-items, blocked
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int p = item * 4; p < min(item * 4 + 4, 256); p += 4) {
            const int c0 = p / 32;
            const int c1 = p % 32;
            vstore4(vload4(0, A + (c0 + i) * 64 + c1 + k), 0, A_local + c0 * 32 + c1);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int kk = 0; kk < 32; ++kk) {
            C_private[0] += (int) A_local[ii * 32 + kk] * (int) vload_half(k / 32 * 256 + kk * 8 + jj, (__local const half *) B_local);
        }
    }
    // Combine C_private with C
    C[(i + ii) * 64 + j + jj] = (char) (C[(i + ii) * 64 + j + jj] + C_private[0]);
}
