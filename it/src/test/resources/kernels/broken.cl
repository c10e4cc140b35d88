kernel void broken(global int *values) {
    values[0] = never_declared;
}
