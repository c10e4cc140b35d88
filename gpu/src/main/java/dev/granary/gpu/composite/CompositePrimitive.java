package dev.granary.gpu.composite;

import dev.granary.cache.BinaryKind;
import dev.granary.cache.CompileException;
import dev.granary.cache.KernelBinaries;
import dev.granary.cache.Primitive;
import dev.granary.gpu.KernelDescriptor;
import dev.granary.gpu.KernelEngine;
import dev.granary.gpu.KernelProgram;
import dev.granary.gpu.composite.CompositeImplementation.ExecutionBody;

import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * A primitive of several kernels and nested primitives, as cached. It holds the programs, the
 * nested primitives, the scratchpad layout and the content of constant memory. Immutable, without
 * state of a context, and shared between threads and callers. {@link #open(KernelEngine)} makes it
 * ready to run.
 */
public final class CompositePrimitive implements Primitive {
    private final CompositeDescriptor<?> descriptor;
    private final ExecutionBody body;
    private final Map<KernelDescriptor, KernelProgram> programs;
    private final Map<CompositeDescriptor<?>, CompositePrimitive> nested;
    private final Map<String, MemorySegment> constants;
    private final ScratchpadLayout scratchpad;

    CompositePrimitive(
            CompositeDescriptor<?> descriptor,
            ExecutionBody body,
            Map<KernelDescriptor, KernelProgram> programs,
            Map<CompositeDescriptor<?>, CompositePrimitive> nested,
            Map<String, MemorySegment> constants,
            ScratchpadLayout scratchpad) {
        this.descriptor = descriptor;
        this.body = body;
        this.programs = Collections.unmodifiableMap(new LinkedHashMap<>(programs));
        this.nested = Collections.unmodifiableMap(new LinkedHashMap<>(nested));
        this.constants = Collections.unmodifiableMap(new LinkedHashMap<>(constants));
        this.scratchpad = scratchpad;
    }

    /**
     * Opens a handle that runs this primitive on {@code engine}; the caller closes it. It compiles
     * only if a program has no binaries or the driver refuses them.
     *
     * @throws CompileException if a program must be compiled again and does not compile
     * @throws IllegalArgumentException if the engine does not have the descriptor's target
     * @throws IllegalStateException if the engine is closed
     */
    public CompositeHandle open(KernelEngine engine) throws CompileException {
        return open(EngineSet.of(engine));
    }

    /**
     * Opens a handle as {@link #open(KernelEngine)} does, for a primitive between two engines, such
     * as a reorder.
     */
    public CompositeHandle open(EngineSet engines) throws CompileException {
        engines.check(descriptor);
        return CompositeHandle.open(this, engines);
    }

    /** Returns the descriptor, which is the cache key. */
    @Override
    public CompositeDescriptor<?> descriptor() {
        return descriptor;
    }

    /** Returns its own programs, without those of nested primitives. */
    public Collection<KernelProgram> programs() {
        return programs.values();
    }

    /** Returns the nested primitives. */
    public Collection<CompositePrimitive> nested() {
        return nested.values();
    }

    /**
     * Returns all programs, also those of nested primitives, the own ones first. Of several with
     * equal descriptors it returns the first.
     */
    Collection<KernelProgram> allPrograms() {
        Map<KernelDescriptor, KernelProgram> all = new LinkedHashMap<>();
        addPrograms(all, Collections.newSetFromMap(new IdentityHashMap<>()));
        return all.values();
    }

    private void addPrograms(
            Map<KernelDescriptor, KernelProgram> all, Set<CompositePrimitive> visited) {
        if (visited.add(this)) { // shared ones make a lattice, with many ways to each
            programs.forEach(all::putIfAbsent);
            nested.values().forEach(part -> part.addPrograms(all, visited));
        }
    }

    /**
     * Returns the origin of the programs: compiled if one of them was, else recompiled if one was.
     */
    @Override
    public Origin origin() {
        Set<Origin> origins = EnumSet.noneOf(Origin.class);
        allPrograms().forEach(program -> origins.add(program.origin()));
        return origins.contains(Origin.COMPILED)
                ? Origin.COMPILED
                : origins.contains(Origin.RECOMPILED) ? Origin.RECOMPILED : Origin.RESTORED;
    }

    /**
     * Returns the binaries of all kernels, also of nested primitives, each once. Their order is
     * that of the kernels in the id of the descriptor, and so the same in every process. There are
     * none if the id is empty, if a program has none, or if the creation requested other kernels
     * than those in the id. The first call may take as long as several compiles.
     */
    @Override
    public KernelBinaries getBinaries(BinaryKind kind) {
        Map<KernelDescriptor, KernelProgram> all = new HashMap<>();
        allPrograms().forEach(program -> all.put(program.descriptor(), program));
        List<List<KernelDescriptor>> planned = descriptor.plan().kernels();
        List<MemorySegment> binaries = new ArrayList<>();
        for (List<KernelDescriptor> kernels : planned) {
            KernelProgram program = all.get(kernels.getFirst());
            KernelBinaries one = program == null || !all.keySet().containsAll(kernels)
                    ? KernelBinaries.none()
                    : program.getBinaries(kind);
            if (one.segments().size() != 1) {
                return KernelBinaries.none();
            }
            binaries.add(one.segments().getFirst());
        }
        boolean isComplete = planned.stream().mapToInt(List::size).sum() == all.size();
        return isComplete ? KernelBinaries.ofSegments(binaries) : KernelBinaries.none();
    }

    /** Returns the compile time of all programs together, as if compiled one after the other. */
    @Override
    public Duration compileTime() {
        return allPrograms().stream()
                .map(Primitive::compileTime)
                .reduce(Duration.ZERO, Duration::plus);
    }

    /** Returns the names of the kernels of all programs, also of nested primitives. */
    @Override
    public List<String> kernels() {
        return allPrograms().stream()
                .flatMap(program -> program.kernels().stream())
                .toList();
    }

    /** Returns the launch geometries that the binaries of all programs cover. */
    @Override
    public List<String> geometries() {
        return allPrograms().stream()
                .flatMap(program -> program.geometries().stream())
                .toList();
    }

    @Override
    public void onBinariesComplete(Runnable action) {
        Collection<KernelProgram> all = allPrograms();
        AtomicInteger incomplete = new AtomicInteger(all.size() + 1);
        Runnable complete = () -> {
            if (incomplete.decrementAndGet() == 0) {
                action.run();
            }
        };
        all.forEach(program -> program.onBinariesComplete(complete));
        complete.run(); // a primitive without programs is complete
    }

    @Override
    public void outliveEngine() {
        allPrograms().forEach(Primitive::outliveEngine);
    }

    @Override
    public void onCompiledAgain(Runnable action) {
        allPrograms().forEach(program -> program.onCompiledAgain(action));
    }

    /**
     * Returns the scratchpad size in bytes, including that of nested primitives; 0 if none is
     * needed.
     */
    public long scratchpadBytes() {
        return scratchpad.bytes();
    }

    ExecutionBody body() {
        return body;
    }

    ScratchpadLayout scratchpad() {
        return scratchpad;
    }

    /** Returns the content of its constant memory by name. */
    Map<String, MemorySegment> constants() {
        return constants;
    }

    /** Returns its nested primitive that equals the given one. */
    CompositePrimitive nested(CompositePrimitive other) {
        CompositePrimitive found = nested.get(other.descriptor);
        if (found == null) {
            throw new IllegalArgumentException(
                    descriptor.name() + " runs " + other.descriptor.name()
                            + ", which is not nested in it: obtain it in"
                            + " CompositeImplementation.create");
        }
        return found;
    }

    @Override
    public String toString() {
        return descriptor.toString();
    }
}
