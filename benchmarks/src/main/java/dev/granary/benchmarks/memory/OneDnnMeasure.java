package dev.granary.benchmarks.memory;

import dev.granary.cache.support.FileTrees;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

/**
 * Measure of a hit of oneDNN's primitive cache, by a small C++ program. It is compiled if oneDNN
 * and a compiler are installed.
 */
final class OneDnnMeasure {
    private static final String PROGRAM = "onednn_hit.cpp";
    private static final long LIMIT_SECONDS = 120;

    private final Consumer<String> tell;

    OneDnnMeasure(Consumer<String> tell) {
        this.tell = tell;
    }

    /**
     * The times of a hit.
     *
     * @param version the version of the library
     * @param sameNanos the same primitive repeatedly
     * @param manyNanos 256 primitives in turn
     */
    record Figures(String version, double sameNanos, double manyNanos) {
        static final Figures NONE = new Figures("not installed", Double.NaN, Double.NaN);
    }

    Figures run() throws IOException, InterruptedException {
        if (!Files.exists(Path.of("/usr/include/dnnl.hpp"))
                || !Files.isExecutable(Path.of("/usr/bin/g++"))) {
            tell.accept("oneDNN is not measured: install it with a compiler, on Debian: apt-get"
                    + " install libdnnl-dev g++");
            return Figures.NONE;
        }
        Path directory = Files.createTempDirectory("granary-onednn-");
        try (InputStream source =
                Objects.requireNonNull(OneDnnMeasure.class.getResourceAsStream(PROGRAM), PROGRAM)) {
            Files.copy(source, directory.resolve(PROGRAM));
            Path binary = directory.resolve("hit");
            output(
                    directory,
                    "g++",
                    "-std=c++17",
                    "-O2",
                    "-o",
                    binary.toString(),
                    PROGRAM,
                    "-ldnnl");
            String[] words = output(directory, binary.toString()).strip().split(" ");
            return new Figures(
                    words[0], Double.parseDouble(words[1]), Double.parseDouble(words[2]));
        } finally {
            FileTrees.delete(directory);
        }
    }

    private static String output(Path directory, String... command)
            throws IOException, InterruptedException {
        Path output = directory.resolve("output.txt");
        Process process = new ProcessBuilder(new ArrayList<>(List.of(command)))
                .directory(directory.toFile())
                .redirectErrorStream(true)
                .redirectOutput(output.toFile())
                .start();
        boolean hasEnded = process.waitFor(LIMIT_SECONDS, TimeUnit.SECONDS);
        if (!hasEnded) {
            process.destroyForcibly().waitFor();
        }
        String text = Files.readString(output, StandardCharsets.UTF_8);
        if (!hasEnded || process.exitValue() != 0) {
            throw new IOException(String.join(" ", command)
                    + (hasEnded ? " failed: " : " takes too long: ")
                    + text);
        }
        return text;
    }
}
