package dev.granary.examples;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.granary.cache.Backend;
import dev.granary.cache.BinaryKind;
import dev.granary.cache.CompileException;
import dev.granary.cache.Engine;
import dev.granary.cache.Id;
import dev.granary.cache.KernelBinaries;
import dev.granary.cache.Primitive;
import dev.granary.cache.PrimitiveDescriptor;
import dev.granary.cache.RestoreException;
import dev.granary.cache.Target;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.SymbolLookup;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;

/** Compiles C functions for this processor, by the C compiler on the path. Thread-safe. */
public final class CcEngine implements Engine<CcEngine.Source, CcEngine.Function> {
    private static final FunctionDescriptor FORM =
            FunctionDescriptor.of(ValueLayout.JAVA_DOUBLE, ValueLayout.JAVA_DOUBLE);

    private final Target target;

    public CcEngine() throws IOException, InterruptedException {
        String version = Ran.of("cc", "--version").output().lines().findFirst().orElseThrow();
        this.target = new Target(new Backend("cc"), "cc", System.getProperty("os.arch"), version);
    }

    /** The source of {@code double name(double)}; a record has equality by value. */
    public record Source(Target target, String name, String text) implements PrimitiveDescriptor {
        @Override
        public Id getId() { // whatever changes the binary is a field, and nothing else
            return Id.builder(target).field("name", name).field("source", text).build();
        }
    }

    /** A compiled function, with the shared library that it is in. */
    public record Function(
            Source descriptor,
            Origin origin,
            KernelBinaries library,
            Duration compileTime,
            MethodHandle handle)
            implements Primitive {
        public double call(double x) {
            try {
                return (double) handle.invokeExact(x);
            } catch (Throwable e) {
                throw new AssertionError(e);
            }
        }

        @Override
        public KernelBinaries getBinaries(BinaryKind kind) {
            return kind == BinaryKind.KERNEL ? library : KernelBinaries.none();
        }
    }

    @Override
    public Target target() {
        return target;
    }

    @Override
    public Function create(Source source) throws CompileException {
        long start = System.nanoTime();
        try {
            Path directory = Files.createTempDirectory("cc-");
            Path text = Files.writeString(directory.resolve("source.c"), source.text());
            Path library = directory.resolve("source.so");
            try {
                Ran cc = Ran.of("cc", "-O2", "-shared", "-o", library.toString(), text.toString());
                if (cc.exitCode() != 0) {
                    throw new CompileException(source.name() + " does not compile", cc.output());
                }
                KernelBinaries binaries = KernelBinaries.of(Files.readAllBytes(library));
                Duration took = Duration.ofNanos(System.nanoTime() - start);
                return load(source, Primitive.Origin.COMPILED, binaries, took);
            } finally {
                Files.deleteIfExists(library);
                Files.delete(text);
                Files.delete(directory);
            }
        } catch (IOException | InterruptedException | RestoreException e) {
            throw new CompileException(source.name() + " was not compiled: " + e, "");
        }
    }

    @Override
    public Function create(Source source, KernelBinaries binaries, BinaryKind kind)
            throws RestoreException {
        if (kind != BinaryKind.KERNEL || binaries.segments().size() != 1) {
            throw new RestoreException("one shared library is needed");
        }
        return load(source, Primitive.Origin.RESTORED, binaries, Duration.ZERO);
    }

    private static Function load(
            Source source, Primitive.Origin origin, KernelBinaries binaries, Duration took)
            throws RestoreException {
        try {
            Path file = Files.write(
                    Files.createTempFile("cc-", ".so"), binaries.toByteArrays().getFirst());
            try {
                MethodHandle handle = SymbolLookup.libraryLookup(file, Arena.ofAuto())
                        .find(source.name())
                        .map(address -> Linker.nativeLinker().downcallHandle(address, FORM))
                        .orElseThrow(() -> RestoreException.missingKernel(source.name()));
                return new Function(source, origin, binaries, took, handle);
            } finally {
                Files.delete(file); // it stays mapped
            }
        } catch (IOException | IllegalArgumentException e) {
            throw new RestoreException("the library cannot be loaded: " + e);
        }
    }

    @Override
    public void close() {}

    /** The end of a process. */
    private record Ran(int exitCode, String output) {
        static Ran of(String... command) throws IOException, InterruptedException {
            Process process =
                    new ProcessBuilder(command).redirectErrorStream(true).start();
            String output = new String(process.getInputStream().readAllBytes(), UTF_8);
            return new Ran(process.waitFor(), output);
        }
    }
}
