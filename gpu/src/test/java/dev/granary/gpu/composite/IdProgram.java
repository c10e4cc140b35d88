package dev.granary.gpu.composite;

/** Program that prints the id of {@link Pipeline#sample}. */
public final class IdProgram {
    private IdProgram() {}

    /** Prints the id. */
    public static void main(String[] arguments) {
        System.out.println(Pipeline.sample().getId());
    }
}
