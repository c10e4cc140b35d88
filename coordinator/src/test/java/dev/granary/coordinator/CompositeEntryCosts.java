package dev.granary.coordinator;

import dev.granary.cache.BinaryKind;
import dev.granary.cache.CompileException;
import dev.granary.cache.Engine;
import dev.granary.cache.KernelBinaries;
import dev.granary.cache.RestoreException;
import dev.granary.cache.StoreResult;
import dev.granary.cache.Target;
import dev.granary.cache.memory.PrimitiveCache;
import dev.granary.cache.support.FileTrees;
import dev.granary.coordinator.statistics.Counter;
import dev.granary.gpu.KernelEngine;
import dev.granary.gpu.composite.CompositeCache;
import dev.granary.gpu.composite.CompositeDescriptor;
import dev.granary.gpu.composite.CompositePrimitive;
import dev.granary.gpu.composite.EngineSet;
import dev.granary.gpu.composite.MatMul;
import dev.granary.gpu.composite.Softmax;
import dev.granary.gpu.opencl.OpenCl;
import dev.granary.gpu.opencl.OpenClEngine;
import dev.granary.s3.contract.Fault;
import dev.granary.s3.contract.FaultPlan;

import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;

/**
 * Program that compares two forms of composite primitives in a bucket: entries of their kernels
 * only, and entries that hold the binaries of all kernels. It prints stored bytes, and requests and
 * time of a node with an empty directory: docs/decisions/0035-composite-entries.md.
 */
public final class CompositeEntryCosts {
    private static final int ROUNDS = 9;

    private CompositeEntryCosts() {}

    /** The form of composite primitives in the tiers. */
    private enum Form {
        /** Each kernel has its entry. */
        KERNELS {
            @Override
            CompositePrimitive find(Granary granary, Holding engine, CompositeDescriptor<?> wanted)
                    throws CompileException {
                return granary.primitive(engine.engine, wanted);
            }
        },
        /** Each primitive has an entry with the binaries of all its kernels. */
        HELD {
            @Override
            CompositePrimitive find(Granary granary, Holding engine, CompositeDescriptor<?> wanted)
                    throws CompileException {
                return granary.primitive(engine, wanted);
            }
        };

        abstract CompositePrimitive find(
                Granary granary, Holding engine, CompositeDescriptor<?> wanted)
                throws CompileException;
    }

    /** An engine that lets Granary treat a composite primitive like a program. */
    private record Holding(OpenClEngine engine)
            implements Engine<CompositeDescriptor<?>, CompositePrimitive> {
        @Override
        public Target target() {
            return engine.target();
        }

        @Override
        public CompositePrimitive create(CompositeDescriptor<?> descriptor)
                throws CompileException {
            return new CompositeCache(new PrimitiveCache<>(16), KernelEngine::create)
                    .primitive(EngineSet.of(engine), descriptor);
        }

        @Override
        public CompositePrimitive create(
                CompositeDescriptor<?> descriptor, KernelBinaries binaries, BinaryKind kind)
                throws RestoreException {
            return EngineSet.of(engine).create(descriptor, binaries, kind);
        }

        @Override
        public void close() {}
    }

    private static List<CompositeDescriptor<?>> all(Target target) {
        return List.of(
                MatMul.packed(target, 8, 12, 4),
                MatMul.packed(target, 8, 16, 4),
                MatMul.packed(target, 8, 20, 4),
                MatMul.packed(target, 4, 12, 8),
                MatMul.packed(target, 16, 12, 4),
                Softmax.descriptor(target, 8, 16),
                Softmax.descriptor(target, 8, 32));
    }

    /** Measures on the first device, with the given round-trip times in milliseconds. */
    public static void main(String[] roundTripMillis) throws Exception {
        Path directory = Files.createTempDirectory("granary-composite-costs-");
        try {
            for (Form form : Form.values()) {
                try (TestFleet fleet =
                        new TestFleet(Files.createDirectory(directory.resolve(form.name())))) {
                    publish(fleet, form);
                    for (String millis : roundTripMillis) {
                        fleet.proxy.plan(FaultPlan.always(new Fault.Delayed(
                                Fault.Moment.BEFORE, Duration.ofMillis(Long.parseLong(millis)))));
                        start(fleet, form, millis);
                    }
                }
            }
        } finally {
            FileTrees.delete(directory);
        }
    }

    private static void publish(TestFleet fleet, Form form) throws Exception {
        long start = System.nanoTime();
        try (OpenClEngine engine = OpenClEngine.open(OpenCl.devices().getFirst());
                Granary granary = fleet.open("ci")) {
            for (CompositeDescriptor<?> wanted : all(engine.target())) {
                form.find(granary, new Holding(engine), wanted);
            }
            granary.flush(TestNode.LONG);
        }
        System.out.printf(
                Locale.ROOT,
                "%s: published in %,d ms: %d entries, %,d bytes%n",
                form,
                (System.nanoTime() - start) / 1_000_000,
                fleet.published.size(),
                fleet.published.values().stream()
                        .mapToLong(result -> ((StoreResult.Stored) result).bytes())
                        .sum());
    }

    private static void start(TestFleet fleet, Form form, String millis) throws Exception {
        long[] nanos = new long[ROUNDS];
        int requests = 0;
        for (int i = 0; i < ROUNDS; i++) {
            try (OpenClEngine engine = OpenClEngine.open(OpenCl.devices().getFirst());
                    Granary granary = fleet.open(form + " " + millis + " " + i)) {
                granary.connect();
                fleet.requests();
                long begin = System.nanoTime();
                for (CompositeDescriptor<?> wanted : all(engine.target())) {
                    form.find(granary, new Holding(engine), wanted);
                }
                nanos[i] = System.nanoTime() - begin;
                requests = fleet.requests().size();
                if (granary.statistics().count(Counter.COMPILED) > 0) {
                    throw new AssertionError("a node compiled");
                }
            }
        }
        Arrays.sort(nanos);
        System.out.printf(
                Locale.ROOT,
                "%s: round trip of %s ms: %d requests, %.1f ms (%.1f to %.1f)%n",
                form,
                millis,
                requests,
                nanos[ROUNDS / 2] / 1e6,
                nanos[0] / 1e6,
                nanos[ROUNDS - 1] / 1e6);
    }
}
