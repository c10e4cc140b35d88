package dev.granary.cli.kernel;

/** Valid programs that bring a compiler to its end, as some programs of users do. */
public final class HardPrograms {
    private static final int TERMS = 200_000;
    private static final int DOUBLINGS = 60;

    private HardPrograms() {}

    /**
     * Returns a sum of so many terms that clang exceeds its stack: a crash of the driver, by
     * SIGSEGV.
     */
    public static String crashing() {
        return "__kernel void crash(__global int *a) { a[0] = 0" + "+a[0]".repeat(TERMS) + "; }\n";
    }

    /**
     * Returns a macro that doubles itself so often that the preprocessor needs years, without
     * memory.
     */
    public static String endless() {
        StringBuilder source = new StringBuilder("#define M0\n");
        for (int i = 1; i <= DOUBLINGS; i++) {
            source.append("#define M" + i + " M" + (i - 1) + " M" + (i - 1) + "\n");
        }
        return source + "M" + DOUBLINGS
                + "\n__kernel void endless(__global int *a) { a[0] = 1; }\n";
    }
}
