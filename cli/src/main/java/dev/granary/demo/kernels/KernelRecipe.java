package dev.granary.demo.kernels;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.granary.cache.Target;
import dev.granary.gpu.Geometry;
import dev.granary.gpu.KernelDescriptor;
import dev.granary.gpu.KernelEngine;
import dev.granary.gpu.LoadedKernels;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.util.List;
import java.util.SortedMap;
import java.util.SortedSet;
import java.util.TreeMap;
import java.util.random.RandomGenerator;

/**
 * Sources, build options and launch geometries of a demo kernel. Immutable.
 *
 * @param name the demo kernel's name
 * @param source the resource with the source
 * @param headers the resources that the source includes, directly or transitively
 * @param options the build options
 * @param launches the geometry of each kernel of the program
 */
record KernelRecipe(
        String name,
        String source,
        List<String> headers,
        String options,
        SortedMap<String, Geometry> launches) {
    private static final String FOLDER = "/dev/granary/demo/";

    /** Check that launches the kernels on synthetic data and compares the results. */
    interface Check {
        /** Runs the check. */
        KernelCheckResult run(KernelHarness harness, RandomGenerator random);
    }

    /** Returns a recipe without headers, options and launches. */
    static KernelRecipe of(String name, String source) {
        return new KernelRecipe(name, source, List.of(), "", new TreeMap<>());
    }

    /** Returns this recipe with these headers. */
    KernelRecipe including(String... resources) {
        return new KernelRecipe(name, source, List.of(resources), options, launches);
    }

    /** Returns this recipe with these options. */
    KernelRecipe with(String buildOptions) {
        return new KernelRecipe(name, source, headers, buildOptions, launches);
    }

    /** Returns this recipe with one more kernel and its only launch geometry. */
    KernelRecipe launching(String kernel, Geometry geometry) {
        SortedMap<String, Geometry> more = new TreeMap<>(launches);
        more.put(kernel, geometry);
        return new KernelRecipe(name, source, headers, options, more);
    }

    /** Returns the demo kernel of this recipe. */
    DemoKernel checkedBy(Check check) {
        return new Checked(this, check);
    }

    /** Returns the descriptor for {@code target}. */
    KernelDescriptor descriptor(Target target) {
        return descriptor(target, "");
    }

    private KernelDescriptor descriptor(Target target, String digest) {
        KernelDescriptor.Builder builder =
                KernelDescriptor.builder(target, name).source(text(source)).options(options);
        headers.forEach(header -> builder.header(header, text(header)));
        launches.forEach((kernel, geometry) -> builder.entry(kernel).launch(kernel, geometry));
        return builder.extraDigest(digest).build();
    }

    /** Returns the text of a resource. */
    static String text(String resource) {
        try (InputStream in = KernelRecipe.class.getResourceAsStream(FOLDER + resource)) {
            if (in == null) {
                throw new IllegalStateException(
                        "The demo's source " + FOLDER + resource + " is missing from this build");
            }
            return new String(in.readAllBytes(), UTF_8);
        } catch (IOException e) {
            throw new UncheckedIOException(
                    "The demo's source " + FOLDER + resource + " cannot be read", e);
        }
    }

    /**
     * Runs a check, and makes sure that it launches each kernel.
     *
     * @param name the demo kernel's name
     */
    static KernelCheckResult verify(
            String name,
            SortedMap<String, Geometry> launches,
            Check check,
            KernelEngine<?> engine,
            LoadedKernels kernels,
            RandomGenerator random) {
        try (KernelHarness harness = new KernelHarness(engine, kernels, launches)) {
            KernelCheckResult result = check.run(harness, random);
            SortedSet<String> notLaunched = harness.notLaunched();
            if (!notLaunched.isEmpty()) {
                throw new IllegalStateException("The check of " + name + " never launches "
                        + String.join(", ", notLaunched));
            }
            return result;
        }
    }

    /** A recipe with the check of its results. */
    private record Checked(KernelRecipe recipe, Check check) implements DemoKernel {
        @Override
        public String name() {
            return recipe.name();
        }

        @Override
        public KernelDescriptor descriptor(Target target, String digest) {
            return recipe.descriptor(target, digest);
        }

        @Override
        public KernelCheckResult verify(
                KernelEngine<?> engine, LoadedKernels kernels, RandomGenerator random) {
            return KernelRecipe.verify(name(), recipe.launches(), check, engine, kernels, random);
        }

        @Override
        public String toString() {
            return name();
        }
    }
}
