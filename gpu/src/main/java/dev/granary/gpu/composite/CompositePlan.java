package dev.granary.gpu.composite;

import dev.granary.cache.BinaryKind;
import dev.granary.cache.CompileException;
import dev.granary.cache.Id;
import dev.granary.cache.KernelBinaries;
import dev.granary.cache.Sha256;
import dev.granary.cache.Target;
import dev.granary.gpu.KernelDescriptor;
import dev.granary.gpu.KernelProgram;
import dev.granary.gpu.composite.CompositeImplementation.CreationContext;

import org.jspecify.annotations.Nullable;

import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Stream;

/**
 * The parts of a composite primitive and its id, found by a run of its implementation without
 * engine and compiler. Immutable.
 *
 * <p>The id contains the ids of all kernels, and so covers their sources. A changed implementation
 * has another id, without a version number to increase.
 *
 * @param id the id, or the empty id with its reason
 * @param kernels all kernels, also those of nested primitives, in the order of the binaries. Those
 *     with equal ids, which differ in required kernels only, share one binary
 * @param own the kernels of the primitive itself, in the order of its requests
 * @param nested its nested primitives, in the order of its requests
 */
record CompositePlan(
        Id id,
        List<List<KernelDescriptor>> kernels,
        List<KernelDescriptor> own,
        List<CompositeDescriptor<?>> nested) {
    /**
     * Returns the plan of a primitive; without parts if they cannot be known before its creation.
     */
    static CompositePlan of(CompositeDescriptor<?> descriptor) {
        try {
            Id.Builder key = values(descriptor);
            CompositePrimitive planned = new Planner().nested(descriptor);
            List<KernelDescriptor> own = kernelsOf(planned.programs());
            List<CompositeDescriptor<?>> nested = planned.nested().stream()
                    .<CompositeDescriptor<?>>map(CompositePrimitive::descriptor)
                    .toList();
            return complete(key, kernelsOf(planned.allPrograms()), own, nested);
        } catch (ValueEncoder.NoEncodingException e) {
            return unknown(String.valueOf(e.getMessage()));
        } catch (CompileException | RuntimeException e) {
            return unknown("its parts are known only when it is created: " + e);
        }
    }

    private static CompositePlan unknown(String reason) {
        return new CompositePlan(Id.notCacheable(reason), List.of(), List.of(), List.of());
    }

    private static CompositePlan complete(
            Id.Builder key,
            List<KernelDescriptor> all,
            List<KernelDescriptor> own,
            List<CompositeDescriptor<?>> nested) {
        Optional<KernelDescriptor> notCacheable =
                all.stream().filter(kernel -> kernel.getId().isEmpty()).findFirst();
        if (all.isEmpty() || notCacheable.isPresent()) {
            String reason = notCacheable
                    .map(kernel -> "its kernel " + kernel.name() + " is not cacheable: "
                            + kernel.getId().reason())
                    .orElse("it has no kernel");
            return new CompositePlan(Id.notCacheable(reason), List.of(), own, nested);
        }
        // By digest, not by request: an implementation may request parts on several threads.
        SortedMap<String, List<KernelDescriptor>> byId = new TreeMap<>();
        for (KernelDescriptor kernel : all) {
            byId.merge(kernel.getId().hash().hex(), List.of(kernel), (some, more) -> Stream.concat(
                            some.stream(), more.stream())
                    .toList());
        }
        byId.keySet().forEach(digest -> key.field("kernel", Sha256.parse(digest).bytes()));
        return new CompositePlan(key.build(), List.copyOf(byId.values()), own, nested);
    }

    /** Returns the beginning of the id: the target and all values of the descriptor. */
    private static Id.Builder values(CompositeDescriptor<?> descriptor)
            throws ValueEncoder.NoEncodingException {
        Id.Builder key = Id.builder(descriptor.target()).field("kind", "composite");
        Map<String, Object> values = Map.of(
                "operation", descriptor.operation(),
                "implementation", descriptor.implementation(),
                "attributes", descriptor.attributes().values(),
                "threads", descriptor.threads(),
                "memory", descriptor.memory(),
                "source", descriptor.source(),
                "destination", descriptor.destination());
        for (Map.Entry<String, Object> value : new TreeMap<>(values).entrySet()) {
            key.field(
                    value.getKey(), ValueEncoder.encode("its " + value.getKey(), value.getValue()));
        }
        return key;
    }

    private static List<KernelDescriptor> kernelsOf(Collection<KernelProgram> programs) {
        return programs.stream().map(KernelProgram::descriptor).toList();
    }

    /**
     * Provider of planned parts for one run, with a reference to the run that requested it. A
     * primitive that needs itself has no plan.
     */
    private static final class Planner implements CreationContext.PartProvider {
        private final @Nullable Planner outer;
        private final @Nullable CompositeDescriptor<?> descriptor; // null if it is the first
        private final Map<CompositeDescriptor<?>, CompositePrimitive> known;

        Planner() {
            this(null, null, new ConcurrentHashMap<>());
        }

        private Planner(
                @Nullable Planner outer,
                @Nullable CompositeDescriptor<?> descriptor,
                Map<CompositeDescriptor<?>, CompositePrimitive> known) {
            this.outer = outer;
            this.descriptor = descriptor;
            this.known = known;
        }

        @Override
        public KernelProgram kernel(KernelDescriptor kernel) {
            requireTarget(kernel.target());
            return new PlannedProgram(kernel);
        }

        @Override
        public CompositePrimitive nested(CompositeDescriptor<?> part) throws CompileException {
            requireTarget(part.target());
            for (Planner run = this; run != null; run = run.outer) {
                if (run.descriptor != null && part.equals(run.descriptor)) {
                    throw new IllegalStateException(part.name() + " needs itself");
                }
            }
            CompositePrimitive planned = known.get(part);
            if (planned == null) {
                CreationContext creation =
                        new CreationContext(part, new Planner(this, part, known));
                planned = creation.create();
                known.put(part, planned);
            }
            return planned;
        }

        private void requireTarget(Target target) {
            if (descriptor != null && !descriptor.hasTarget(target)) {
                throw new IllegalArgumentException(
                        "none of the engines of " + descriptor.name() + " is " + target.name());
            }
        }
    }

    /** A program that is not compiled: it has a descriptor only. */
    private record PlannedProgram(KernelDescriptor descriptor) implements KernelProgram {
        @Override
        public Origin origin() {
            throw notCompiled();
        }

        @Override
        public KernelBinaries getBinaries(BinaryKind kind) {
            throw notCompiled();
        }

        @Override
        public Duration compileTime() {
            throw notCompiled();
        }

        @Override
        public List<String> kernels() {
            throw notCompiled();
        }

        @Override
        public List<String> geometries() {
            throw notCompiled();
        }

        @Override
        public void onBinariesComplete(Runnable action) {
            throw notCompiled();
        }

        private UnsupportedOperationException notCompiled() {
            return new UnsupportedOperationException("the implementation reads the program "
                    + descriptor.name() + " during the creation");
        }
    }
}
