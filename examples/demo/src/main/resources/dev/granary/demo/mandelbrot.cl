/*
 * How many steps each point of a rectangle stays in the circle of radius two under z = z^2 + c, at
 * most LIMIT. Each product and sum is a fused one by name, so that no compiler may round
 * differently: the counts are the same on all devices.
 */
#ifndef LIMIT
#error "Define how many steps are enough: -D LIMIT=100"
#endif

__kernel void mandelbrot(__global int *steps, const int width, const int height, const float left, const float top, const float pitch)
{
    const int column = get_global_id(0);
    const int row = get_global_id(1);
    if (column >= width || row >= height) {
        return;
    }
    const float c_real = fma((float) column, pitch, left);
    const float c_imaginary = fma((float) row, -pitch, top);
    float real = 0.0f;
    float imaginary = 0.0f;
    int step = 0;
    while (step < LIMIT && fma(real, real, imaginary * imaginary) <= 4.0f) {
        const float next = fma(real, real, fma(-imaginary, imaginary, c_real));
        imaginary = fma(2.0f * real, imaginary, c_imaginary);
        real = next;
        step++;
    }
    steps[row * width + column] = step;
}
