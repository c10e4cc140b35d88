// gemm: C[i, j] += A[i, k] * B[k, j]
// Loops: i < 33 by 4, j < 48 by 8, k < 16 by 8, ii < 4, jj < 8, kk < 8
__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void gemm(
        __global const float *A,
        __global const float *B,
        __global float *C) {
    float A_private[32];
    for (int i = 0; i < 33; i += 4) {
        for (int j = 0; j < 48; j += 8) {
            for (int k = 0; k < 16; k += 8) {
                if (i >= 32) {
                    // No copy to A_private: the block is contiguous in A
                    for (int ii = 0; ii < min(4, 33 - i); ++ii) {
                        for (int jj = 0; jj < 8; ++jj) {
                            for (int kk = 0; kk < 8; ++kk) {
                                C[(i + ii) * 48 + j + jj] += A[(i + ii) * 16 + k + kk] * B[(k + kk) * 48 + j + jj];
                            }
                        }
                    }
                } else {
                    // Copy A_private, 4 x 8 elements
                    for (int c0 = 0; c0 < 4; ++c0) {
                        for (int c1 = 0; c1 < 8; ++c1) {
                            if (c0 + i < 33) {
                                A_private[c0 * 8 + c1] = A[(c0 + i) * 16 + c1 + k];
                            }
                        }
                    }
                    for (int ii = 0; ii < min(4, 33 - i); ++ii) {
                        for (int jj = 0; jj < 8; ++jj) {
                            for (int kk = 0; kk < 8; ++kk) {
                                C[(i + ii) * 48 + j + jj] += A_private[ii * 8 + kk] * B[(k + kk) * 48 + j + jj];
                            }
                        }
                    }
                }
            }
        }
    }
}
