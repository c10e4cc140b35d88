package dev.granary.gpu.opencl;

/** Process that prints what the entry points of OpenCL return or throw. */
final class BindingProgram {
    private BindingProgram() {}

    /** Runs without arguments. */
    public static void main(String[] arguments) {
        System.out.println("probe=" + probe());
        System.out.println("again=" + probe()); // LWJGL's second failure is another error
        System.out.println("devices=" + outcome(OpenCl::devices));
        System.out.println("wrap=" + outcome(() -> OpenClEngine.wrap(1, 2, 3)));
    }

    private static String probe() {
        return switch (OpenCl.probe()) {
            case OpenCl.Probe.Found _ -> "found";
            case OpenCl.Probe.Missing missing -> missing.cause();
        };
    }

    private static String outcome(Runnable use) {
        try {
            use.run();
            return "returned";
        } catch (IllegalStateException e) {
            return String.valueOf(e.getMessage());
        }
    }
}
