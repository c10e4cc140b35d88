// gemm: C[i, j] += A[i, k] * B[k, j]
// Loops: i < 1024 by 32, j < 1024 by 64, k < 1024 by 128, ii < 32, jj < 64, kk < 128
__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void gemm(
        __global const float *A,
        __global const float *B,
        __global float *C) {
    float A_private[4096];
    float A_next[4096];
    for (int i = 0; i < 1024; i += 32) {
        for (int j = 0; j < 1024; j += 64) {
            // Copy for the first k: A_private, 32 x 128 elements
            for (int c0 = 0; c0 < 32; ++c0) {
                for (int c1 = 0; c1 < 128; ++c1) {
                    A_private[c0 * 128 + c1] = A[(c0 + i) * 1024 + c1];
                }
            }
            for (int k = 0; k < 1024; k += 128) {
                // Fetch for the next k: A_private, 32 x 128 elements
                if (k + 128 < 1024) {
                    for (int c0 = 0; c0 < 32; ++c0) {
                        for (int c1 = 0; c1 < 128; ++c1) {
                            A_next[c0 * 128 + c1] = A[(c0 + i) * 1024 + c1 + k + 128];
                        }
                    }
                }
                for (int ii = 0; ii < 32; ++ii) {
                    for (int jj = 0; jj < 64; ++jj) {
                        for (int kk = 0; kk < 128; ++kk) {
                            C[(i + ii) * 1024 + j + jj] += A_private[ii * 128 + kk] * B[(k + kk) * 1024 + j + jj];
                        }
                    }
                }
                // Move the fetched elements to A_private
                if (k + 128 < 1024) {
                    for (int c0 = 0; c0 < 32; ++c0) {
                        for (int c1 = 0; c1 < 128; ++c1) {
                            A_private[c0 * 128 + c1] = A_next[c0 * 128 + c1];
                        }
                    }
                }
            }
        }
    }
}
