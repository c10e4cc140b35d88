// Prints the version of oneDNN, and what a hit of its primitive cache takes, in ns: of one primitive, and of 256 in turn.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <vector>

#include <dnnl.hpp>

namespace {

constexpr int PRIMITIVES = 256;
constexpr int BATCHES = 31;
constexpr int HITS = 2560;

dnnl::matmul::primitive_desc descriptor(const dnnl::engine &engine, int rows) {
    using md = dnnl::memory::desc;
    using dt = dnnl::memory::data_type;
    using tag = dnnl::memory::format_tag;
    md a({rows, 16}, dt::f32, tag::ab), b({16, 16}, dt::f32, tag::ab), c({rows, 16}, dt::f32, tag::ab);
#if DNNL_VERSION_MAJOR >= 3
    return dnnl::matmul::primitive_desc(engine, a, b, c);
#else
    return dnnl::matmul::primitive_desc(dnnl::matmul::desc(a, b, c), engine);
#endif
}

double median_hit(const std::vector<dnnl::matmul::primitive_desc> &all, std::size_t count) {
    for (std::size_t i = 0; i < count; i++) dnnl::matmul filled(all[i]);
    std::vector<double> batches;
    for (int batch = 0; batch < BATCHES; batch++) {
        auto start = std::chrono::steady_clock::now();
        for (int i = 0; i < HITS; i++) dnnl::matmul hit(all[i % count]);
        auto end = std::chrono::steady_clock::now();
        batches.push_back(std::chrono::duration<double, std::nano>(end - start).count() / HITS);
    }
    std::sort(batches.begin(), batches.end());
    return batches[BATCHES / 2];
}

} // namespace

int main() {
    dnnl::engine engine(dnnl::engine::kind::cpu, 0);
    std::vector<dnnl::matmul::primitive_desc> all;
    for (int i = 0; i < PRIMITIVES; i++) all.push_back(descriptor(engine, 1 + i));
    double same = median_hit(all, 1);
    double many = median_hit(all, PRIMITIVES);
    const dnnl_version_t *version = dnnl_version();
    std::printf("%d.%d.%d %.1f %.1f\n", version->major, version->minor, version->patch, same, many);
    return 0;
}
