#include "scale.clh"

kernel void scale(global float *values, int count) {
    int i = get_global_id(0);
    if (i < count) {
        values[i] = scaled(values[i]);
    }
}
