package dev.granary.gpu;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.cache.Backend;
import dev.granary.cache.Target;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.util.List;

/** Tests of the check whether a source is the same program on every device. */
class SourcePortabilityTest {
    private static KernelDescriptor.Builder builder(String source) {
        return KernelDescriptor.builder(
                        new Target(Backend.LEVEL_ZERO, "intel", "GPU id 0x9a49", "1.3.0"), "k")
                .source(source);
    }

    private static boolean isPortable(String source) {
        return isPortable(builder(source));
    }

    private static boolean isPortable(KernelDescriptor.Builder kernel) {
        return kernel.build().isPortable();
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "__kernel void k(__global float* o) { o[0] = 1.5f + 2.F + .5e-3f + 0x1p4f; }",
                "kernel void k(global int* o) { o[0] = 0xe + 0x1f + 10 + __LINE__; }",
                "kernel __attribute__((reqd_work_group_size(8, 1, 1))) void k() {}",
                "typedef float doubled; float halved(float a_half) { return a_half; }",
                "float f(float x) { return x * M_PI_F + M_TILE + FLT_MAX + HUGE_VALF; }",
                "/* double: 1.0, half 2.0 */ kernel void k() {} // cl_khr_fp64 ## 5.",
                "float f(float4 v) { return v.x + v.s3 + vload_half(0, (global void*) 0); }"
            })
    @DisplayName("a source without tokens of a device is portable")
    void portable(String source) {
        assertTrue(isPortable(source), source);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "#ifdef cl_khr_fp64\n#endif",
                "#if CL_VERSION_2_0\n#endif",
                "#if __OPENCL_VERSION__ > 120\n#endif",
                "#pragma OPENCL EXTENSION all : enable",
                "#ifdef __clang_major__\n#endif",
                "#ifdef FP_FAST_FMA\n#endif",
                "#ifdef __IMAGE_SUPPORT__\n#endif",
                "float f() { return 1.0; }",
                "float f() { return 1.; }",
                "float f() { return 5e3; }",
                "float f() { return 0x1p4; }",
                "float f() { return .5h; }",
                "float f(float x) { return x *.25; }",
                "double f;",
                "half4 f;",
                "float f(float x) { return x * M_PI; }",
                "float f(float x) { return x * M_SQRT1_2 + M_1_PI; }",
                "float f(float x) { return fmin(x, DBL_MAX); }",
                "float f() { return HUGE_VAL; }",
                "#ifdef HALF_MAX\n#endif",
                "#ifdef M_PI_H\n#endif",
                "#ifdef as_double2\n#endif",
                "#ifdef CLK_AVC_ME_MAJOR_16x16_INTEL\n#endif",
                "void f() { printf(\"\"); }",
                "dou\\\nble f;",
                "#define JOIN(a, b) a ## b",
                "??=",
                "#define JOIN(a, b) a %:%: b",
                "constant char* s = R\"(x)\";",
                "// a \\\ncomment\nfloat f = 1.0;",
                "constant char* s = \"/*\"; double d; /* */"
            })
    @DisplayName("a source with a token that may depend on the device is not portable")
    void ofDevice(String source) {
        assertFalse(isPortable(source + "\nkernel void k() {}"), source);
        assertFalse(isPortable(builder("kernel void k() {}").header("a.clh", source)));
    }

    @Test
    @DisplayName("options of a version from 2.0 on, of extensions, and values of a device are"
            + " not portable")
    void options() {
        for (String portable : List.of("-cl-std=CL1.2", "-D N=4", "-DF=1.5f", "-cl-mad-enable")) {
            assertTrue(isPortable(builder("kernel void k() {}").options(portable)));
        }
        for (String other : List.of("-cl-std=CL3.0", "-cl-ext=+all", "-D T=double", "-DF=1.5")) {
            assertFalse(isPortable(builder("kernel void k() {}").options(other)));
        }
    }
}
