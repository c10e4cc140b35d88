kernel void first(global int *values) {
    values[get_global_id(0)] += 1;
}

kernel void second(global int *values) {
    values[get_global_id(0)] *= 2;
}
