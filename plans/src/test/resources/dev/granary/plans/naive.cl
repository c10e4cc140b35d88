// gemm: C[i, j] += A[i, k] * B[k, j]
// Loops: i < 64, j < 64, k < 64
__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void gemm(
        __global const float *A,
        __global const float *B,
        __global float *C) {
    for (int i = 0; i < 64; ++i) {
        for (int j = 0; j < 64; ++j) {
            for (int k = 0; k < 64; ++k) {
                C[i * 64 + j] += A[i * 64 + k] * B[k * 64 + j];
            }
        }
    }
}
