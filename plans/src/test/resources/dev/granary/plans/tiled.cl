// gemm: C[i, j] += A[i, k] * B[k, j]
// Loops: i < 127 by 16 (group-y), j < 251 by 16 (group-x), k < 11 by 8, ii < 16 (item-y), jj < 16
// (item-x), kk < 8
__kernel __attribute__((reqd_work_group_size(16, 16, 1)))
void gemm(
        __global const float *A,
        __global const float *B,
        __global float *C) {
    __local float A_local[128];
    float A_next[1];
    __local float B_local[128];
    float C_private[1];
    const int j = (int) get_group_id(0) * 16;
    const int i = (int) get_group_id(1) * 16;
    const int jj = (int) get_local_id(0);
    const int ii = (int) get_local_id(1);
    const int item = (int) (get_local_id(0) + get_local_id(1) * 16);
    // Copy for the first k: A_local, 16 x 8 elements, by 256 work-items, striped
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int p = item; p < 128; p += 256) {
        const int c0 = p / 8;
        const int c1 = p % 8;
        if (c0 + i < 127 && c1 < 11) {
            A_local[c0 * 8 + c1] = A[(c0 + i) * 11 + c1];
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    // Clear C_private, 1 x 1 elements
    C_private[0] = 0.0f;
    for (int k = 0; k < 11; k += 8) {
        // Fetch for the next k: A_local, 16 x 8 elements, by 256 work-items, striped
        if (k + 8 < 11) {
            for (int p = item; p < 128; p += 256) {
                const int c0 = p / 8;
                const int c1 = p % 8;
                if (c0 + i < 127 && c1 + k + 8 < 11) {
                    A_next[p / 256] = A[(c0 + i) * 11 + c1 + k + 8];
                }
            }
        }
        // Copy B_local, 8 x 16 elements, by 256 work-items, striped
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int p = item; p < 128; p += 256) {
            const int c0 = p / 16;
            const int c1 = p % 16;
            if (c0 + k < 11 && c1 + j < 251) {
                B_local[c0 * 16 + c1] = B[(c0 + k) * 251 + c1 + j];
            }
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        if (i + ii < 127 && j + jj < 251) {
            for (int kk = 0; kk < min(8, 11 - k); ++kk) {
                C_private[0] += A_local[ii * 8 + kk] * B_local[kk * 16 + jj];
            }
        }
        // Move the fetched elements to A_local
        barrier(CLK_LOCAL_MEM_FENCE);
        if (k + 8 < 11) {
            for (int p = item; p < 128; p += 256) {
                const int c0 = p / 8;
                const int c1 = p % 8;
                if (c0 + i < 127 && c1 + k + 8 < 11) {
                    A_local[c0 * 8 + c1] = A_next[p / 256];
                }
            }
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    // Combine C_private with C
    if (i + ii < 127 && j + jj < 251) {
        C[(i + ii) * 251 + j + jj] = C[(i + ii) * 251 + j + jj] + C_private[0];
    }
}
