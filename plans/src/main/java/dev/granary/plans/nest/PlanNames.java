package dev.granary.plans.nest;

import java.util.Set;
import java.util.regex.Pattern;

/** The rules for names of nests, arrays and indices, which become names in a kernel's source. */
public final class PlanNames {
    private static final int MAX_CHARACTERS = 64;
    private static final Pattern IDENTIFIER = Pattern.compile("[A-Za-z][A-Za-z0-9_]*");

    /** Words of OpenCL C, and its functions, constants and types that kernels of plans may use. */
    private static final Set<String> RESERVED = Set.of("""
            auto break case char const continue default do double else enum extern float for
            goto if inline int long register restrict return short signed sizeof static
            struct switch typedef union unsigned void volatile while bool complex imaginary
            half quad uchar ushort uint ulong size_t ptrdiff_t intptr_t uintptr_t global
            local constant private generic kernel read_only write_only read_write uniform
            pipe event_t sampler_t queue_t image1d_t image2d_t image3d_t true false NULL NAN
            INFINITY HUGE_VALF MAXFLOAT M_PI M_E INT_MAX INT_MIN CHAR_BIT barrier min max
            fmin fmax exp sqrt fabs abs vload_half vstore_half get_group_id get_local_id
            get_global_id item p defined main asm typeof vec_step printf
            """.strip().split("\\s+"));

    /** Functions of OpenCL C, which a variable may hide, but a kernel cannot be named after. */
    private static final Set<String> FUNCTIONS = Set.of("""
            abs_diff acos acosh acospi add_sat all any asin asinh asinpi atan atan2 atan2pi atanh
            atanpi bitselect cbrt ceil clamp clz copysign cos cosh cospi cross ctz degrees distance
            dot erf erfc exp10 exp2 expm1 fast_distance fast_length fast_normalize fdim floor fma
            fmod fract frexp hadd hypot ilogb isequal isfinite isgreater isgreaterequal isinf
            isless islessequal islessgreater isnan isnormal isnotequal isordered isunordered
            ldexp length lgamma lgamma_r log log10 log1p log2 logb mad mad24 mad_hi mad_sat
            maxmag mem_fence minmag mix modf mul24 mul_hi nan nextafter normalize popcount pow
            pown powr prefetch radians read_mem_fence remainder remquo rhadd rint rootn rotate
            round rsqrt select shuffle shuffle2 sign signbit sin sincos sinh sinpi smoothstep step
            sub_sat sub_group_barrier tan tanh tanpi tgamma trunc upsample wait_group_events
            work_group_barrier write_mem_fence
            """.strip().split("\\s+"));

    private PlanNames() {}

    /**
     * Returns {@code name} if it can be a name in a kernel.
     *
     * @param subject the named thing for the message, such as {@code An index}
     * @throws IllegalArgumentException otherwise
     */
    static String check(String subject, String name) {
        if (!IDENTIFIER.matcher(name).matches() || name.length() > MAX_CHARACTERS) {
            throw new IllegalArgumentException(subject + " needs a name of a letter and further"
                    + " letters, digits or underscores, at most " + MAX_CHARACTERS
                    + " characters, not '" + name + "'");
        }
        if (isReserved(name)) {
            throw new IllegalArgumentException(
                    subject + " cannot be named '" + name + "': OpenCL C has that word");
        }
        return name;
    }

    /** Does the same for the name of a kernel. */
    static String checkKernel(String name) {
        if (FUNCTIONS.contains(name) || name.matches("(atomic|atom|async|read|write)_.*")) {
            throw new IllegalArgumentException(
                    "A nest cannot be named '" + name + "': OpenCL C has a function of that name");
        }
        return check("A nest", name);
    }

    /** Returns true if {@code name} has a meaning in OpenCL C, or in every kernel of a plan. */
    public static boolean isReserved(String name) {
        return RESERVED.contains(name)
                || name.matches("(u?(char|short|int|long)|float|half|double)(2|3|4|8|16)")
                || name.matches("(FLT|DBL|HALF|U?(CHAR|INT|LONG)|SCHAR|U?SHRT|M)_[A-Z0-9_]*")
                || name.matches("(vload|vstore|convert_|as_|get_|native_|half_|CL_|CLK_).*");
    }
}
