package dev.granary.plans;

import static org.junit.jupiter.api.Assertions.assertEquals;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.granary.plans.nest.ElementType;
import dev.granary.plans.nest.KernelArray;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;

/**
 * The simulator Oclgrind, which reports invalid accesses, races, and missed barriers of a kernel.
 * {@code -Dgranary.oclgrind=PATH} names its program {@code oclgrind-kernel}.
 */
final class Oclgrind {
    private static final String PROGRAM = System.getProperty("granary.oclgrind", "oclgrind-kernel");

    private Oclgrind() {}

    /** Returns true if the simulator is installed. */
    static boolean isInstalled() {
        try {
            return new ProcessBuilder(PROGRAM, "--version").start().waitFor() == 0;
        } catch (IOException | InterruptedException e) {
            return false;
        }
    }

    /** Returns the report on a run of a kernel, whose files go to {@code directory}. */
    static String report(Path directory, KernelPlan plan, String source) throws Exception {
        Path kernel = directory.resolve(plan.name() + ".cl");
        Files.writeString(kernel, source);
        List<String> lines = new ArrayList<>(List.of(kernel.toString(), plan.name()));
        lines.add(sizes(plan.geometry().global()));
        lines.add(sizes(plan.geometry().local()));
        for (KernelArray array : plan.arguments()) {
            lines.add("<size=" + array.byteSize() + " " + type(array.type()) + " fill=1>");
        }
        Path run = directory.resolve(plan.name() + ".sim");
        Files.write(run, lines);
        Process process = new ProcessBuilder(PROGRAM, "--data-races", run.toString())
                .redirectErrorStream(true)
                .start();
        String output = new String(process.getInputStream().readAllBytes(), UTF_8);
        assertEquals(0, process.waitFor(), output);
        return output;
    }

    private static String sizes(List<Long> sizes) {
        List<Long> three = new ArrayList<>(sizes);
        while (three.size() < 3) {
            three.add(1L);
        }
        return three.stream().map(String::valueOf).collect(Collectors.joining(" "));
    }

    private static String type(ElementType type) {
        return switch (type) {
            case FLOAT -> "float";
            case INT32 -> "int";
            case INT8 -> "char";
            case HALF -> "short";
        };
    }
}
