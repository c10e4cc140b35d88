package dev.granary.gpu.levelzero;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static java.nio.charset.StandardCharsets.UTF_8;

import dev.granary.cache.support.FileTrees;

import org.junit.jupiter.api.Assertions;

import java.io.IOException;
import java.io.InputStream;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.invoke.MethodHandle;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Optional;

/**
 * The Level Zero driver of the tests, in C: compiled by the machine's {@code cc} and loaded through
 * the real loader, once per process. Its source is among the test resources; {@code driver.c} lists
 * its settings.
 */
public final class TestDriver {
    /** The variable by which the loader takes a driver instead of the installed ones. */
    public static final String ALTERNATIVE_DRIVERS = "ZE_ENABLE_ALT_DRIVERS";

    private static final List<String> SOURCES =
            List.of("driver.c", "commands.c", "vector.c", "objects.c", "tables.c");
    private static final List<String> HEADERS = List.of("driver.h");

    private static Object loaded = ""; // guarded by the class; a driver, or why there is none

    private final MethodHandle set;
    private final MethodHandle calls;
    private final MethodHandle live;
    private final MethodHandle forget;
    private final MethodHandle violations;
    private final MethodHandle lastViolation;

    private TestDriver(Path library) {
        SymbolLookup symbols = SymbolLookup.libraryLookup(library, Arena.global());
        set = function(symbols, "granary_ze_set", FunctionDescriptor.ofVoid(ADDRESS, ADDRESS));
        calls = function(symbols, "granary_ze_calls", FunctionDescriptor.of(JAVA_LONG, ADDRESS));
        live = function(symbols, "granary_ze_live", FunctionDescriptor.of(JAVA_LONG));
        forget = function(symbols, "granary_ze_forget", FunctionDescriptor.ofVoid());
        violations = function(symbols, "granary_ze_violations", FunctionDescriptor.of(JAVA_LONG));
        lastViolation =
                function(symbols, "granary_ze_last_violation", FunctionDescriptor.of(ADDRESS));
    }

    private static MethodHandle function(
            SymbolLookup symbols, String name, FunctionDescriptor signature) {
        return Linker.nativeLinker().downcallHandle(symbols.findOrThrow(name), signature);
    }

    /** Returns the reason why there is no driver; empty if there is one. */
    public static synchronized Optional<String> missing() {
        if (loaded.equals("")) {
            loaded = load();
        }
        return loaded instanceof String reason ? Optional.of(reason) : Optional.empty();
    }

    /** Returns the driver of this process. */
    public static synchronized TestDriver get() {
        Assertions.assertEquals(Optional.empty(), missing());
        return (TestDriver) loaded;
    }

    private static Object load() {
        try {
            Path directory = Files.createTempDirectory("granary-test-driver-");
            try {
                return load(directory);
            } finally {
                FileTrees.delete(directory); // a loaded library stays
            }
        } catch (IOException e) {
            throw new IllegalStateException(e);
        }
    }

    private static Object load(Path directory) throws IOException {
        Optional<String> failed = compile(directory);
        if (failed.isPresent()) {
            return failed.get();
        }
        Path library = directory.resolve("driver.so");
        // the loader reads it at its first use, which the tests of this process leave to us
        setVariable(ALTERNATIVE_DRIVERS, library.toString());
        return switch (LevelZero.probe()) {
            case LevelZero.Probe.Missing missing -> missing.cause();
            case LevelZero.Probe.Found _ -> new TestDriver(library);
        };
    }

    /**
     * Compiles the driver into a directory, as {@code driver.so}; returns the reason if that is not
     * possible.
     */
    public static Optional<String> compile(Path directory) throws IOException {
        List<String> command = new ArrayList<>(
                List.of("cc", "-shared", "-fPIC", "-pthread", "-fvisibility=hidden", "-O1"));
        command.addAll(List.of("-Wall", "-Wextra", "-Werror", "-o", "driver.so"));
        for (String name : SOURCES) {
            copy(name, directory);
            command.add(name);
        }
        for (String name : HEADERS) {
            copy(name, directory);
        }
        Process compiler;
        try {
            compiler = new ProcessBuilder(command)
                    .directory(directory.toFile())
                    .redirectErrorStream(true)
                    .start();
        } catch (IOException e) {
            return Optional.of(
                    "there is no C compiler (cc), on Debian: apt-get install gcc" + " libc6-dev");
        }
        String output = new String(compiler.getInputStream().readAllBytes(), UTF_8);
        try {
            Assertions.assertEquals(0, compiler.waitFor(), output);
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
        return Optional.empty();
    }

    private static void copy(String name, Path directory) throws IOException {
        try (InputStream source = TestDriver.class.getResourceAsStream(name)) {
            Files.copy(Objects.requireNonNull(source, name), directory.resolve(name));
        }
    }

    /** Sets an environment variable for native code of this process. */
    private static void setVariable(String name, String value) {
        MethodHandle setenv = Linker.nativeLinker()
                .downcallHandle(
                        Linker.nativeLinker().defaultLookup().findOrThrow("setenv"),
                        FunctionDescriptor.of(JAVA_INT, ADDRESS, ADDRESS, JAVA_INT));
        try (Arena arena = Arena.ofConfined()) {
            Assertions.assertEquals(0, (int)
                    setenv.invokeExact(arena.allocateFrom(name), arena.allocateFrom(value), 1));
        } catch (Throwable e) {
            throw new IllegalStateException(e);
        }
    }

    /** Changes a setting; an empty value restores the regular behaviour. */
    public void set(String name, String value) {
        try (Arena arena = Arena.ofConfined()) {
            set.invokeExact(arena.allocateFrom(name), arena.allocateFrom(value));
        } catch (Throwable e) {
            throw new IllegalStateException(e);
        }
    }

    /** Lets calls of a function fail with a status, such as {@code zeModuleCreate=0x70000002}. */
    public void fail(String functionAndStatus) {
        set("GRANARY_ZE_FAIL", functionAndStatus);
    }

    /**
     * Returns the number of calls of a function; {@code spirv} and {@code native} are the builds of
     * modules by their input.
     */
    public long calls(String function) {
        try (Arena arena = Arena.ofConfined()) {
            return (long) calls.invokeExact(arena.allocateFrom(function));
        } catch (Throwable e) {
            throw new IllegalStateException(e);
        }
    }

    /** Returns the number of native objects that were not destroyed. */
    public long liveObjects() {
        try {
            return (long) live.invokeExact();
        } catch (Throwable e) {
            throw new IllegalStateException(e);
        }
    }

    /** Takes all live objects and violations as none, after a test that left some on purpose. */
    void forget() {
        try {
            forget.invokeExact();
        } catch (Throwable e) {
            throw new IllegalStateException(e);
        }
    }

    /** Fails if a rule of Level Zero was violated, such as the order of destruction. */
    public void assertNoViolation() {
        try {
            long count = (long) violations.invokeExact();
            MemorySegment text = (MemorySegment) lastViolation.invokeExact();
            Assertions.assertEquals(0, count, text.reinterpret(Long.MAX_VALUE).getString(0));
        } catch (Error e) {
            throw e;
        } catch (Throwable e) {
            throw new IllegalStateException(e);
        }
    }
}
