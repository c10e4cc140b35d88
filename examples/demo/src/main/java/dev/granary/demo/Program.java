package dev.granary.demo;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.granary.cache.Target;
import dev.granary.gpu.KernelDescriptor;
import dev.granary.gpu.KernelEngine;
import dev.granary.gpu.Launch;
import dev.granary.gpu.LoadedKernels;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.util.List;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.random.RandomGenerator;
import java.util.regex.Pattern;

/**
 * A program of OpenCL kernels with a check of its results. Immutable, thread-safe.
 *
 * @param name a short name, unique in the demo
 * @param inputs returns the builder of the descriptor for a target
 * @param check launches every kernel on synthetic data, and compares results with expected ones
 * @param launches the only launch of each kernel
 */
public record Program(
        String name,
        Function<Target, KernelDescriptor.Builder> inputs,
        Consumer<ProgramRun> check,
        List<Launch> launches) {
    private static final Pattern INCLUDE = Pattern.compile("#include \"(.+)\"");

    /** Returns a program whose source, and the headers that it includes, are resources. */
    static Program of(
            String name,
            String source,
            String options,
            Consumer<ProgramRun> check,
            Launch... launches) {
        return new Program(
                name,
                target -> {
                    String text = text(source + ".cl");
                    KernelDescriptor.Builder builder = KernelDescriptor.builder(target, name);
                    addHeaders(builder, text);
                    return builder.source(text).options(options);
                },
                check,
                List.of(launches));
    }

    /**
     * Returns the descriptor.
     *
     * @param digest a digest of inputs that the key cannot cover; empty for none
     */
    public KernelDescriptor descriptor(Target target, String digest) {
        KernelDescriptor.Builder builder = inputs.apply(target).extraDigest(digest);
        launches.forEach(one -> builder.entry(one.kernel()).launch(one.kernel(), one.geometry()));
        return builder.build();
    }

    /**
     * Launches every kernel and compares the results with values that Java computes. This takes
     * about 10 ms, plus compilations at launch.
     *
     * @param engine the engine that loaded {@code kernels}; also the owner of the buffers
     * @param kernels the live kernels of the descriptor
     * @param random the generator of the data
     * @return the first difference; empty if all results are right
     * @throws dev.granary.gpu.DriverException if the driver refuses a launch or a buffer
     */
    public String check(KernelEngine engine, LoadedKernels kernels, RandomGenerator random) {
        try (ProgramRun run = new ProgramRun(engine, kernels, launches, random)) {
            check.accept(run);
            return run.difference();
        }
    }

    @Override
    public String toString() {
        return name;
    }

    private static void addHeaders(KernelDescriptor.Builder builder, String text) {
        INCLUDE.matcher(text).results().map(include -> include.group(1)).forEach(header -> {
            builder.header(header, text(header));
            addHeaders(builder, text(header));
        });
    }

    private static String text(String resource) {
        try (InputStream in = Program.class.getResourceAsStream(resource)) {
            if (in == null) {
                throw new IllegalStateException("The source " + resource + " is missing");
            }
            return new String(in.readAllBytes(), UTF_8);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
