package dev.granary.wrap;

import java.io.FileInputStream;
import java.io.IOException;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.lang.reflect.Proxy;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.IntConsumer;

/**
 * A child process with the terminal, the streams and an environment of its own. Signals to this
 * process are passed on to it.
 */
final class WrappedProgram {
    private static final List<String> PASSED_ON = List.of("TERM", "HUP", "USR1", "USR2", "WINCH");

    /** Those that a terminal sends to all of its processes. */
    private static final List<String> OF_TERMINALS = List.of("INT");

    private WrappedProgram() {}

    /**
     * Runs a program. This process ignores the signals that it passes on, from now on.
     *
     * @return its exit code; 128 and the number of the signal that ended it
     * @throws IOException if it cannot be started
     */
    static int run(ProcessBuilder builder) throws IOException, InterruptedException {
        CompletableFuture<Process> started = new CompletableFuture<>();
        PASSED_ON.forEach(name -> handle(name, signal -> pass(signal, started)));
        boolean hasTerminal = hasTerminal();
        OF_TERMINALS.forEach(name -> handle(name, signal -> {
            if (!hasTerminal) {
                pass(signal, started);
            }
        }));
        try {
            Process process = builder.start();
            started.complete(process);
            return process.waitFor();
        } finally {
            started.cancel(false);
        }
    }

    /**
     * Installs a handler, unless the signal is ignored, as by {@code nohup}: then it is also
     * ignored by the program. By reflection, since each use of the class in code is a warning that
     * the compiler cannot turn off.
     */
    private static void handle(String name, IntConsumer action) {
        try {
            Class<?> signals = Class.forName("sun.misc.Signal");
            Class<?> handlers = Class.forName("sun.misc.SignalHandler");
            Object signal = signals.getConstructor(String.class).newInstance(name);
            int number = (int) signals.getMethod("getNumber").invoke(signal);
            Object handler = Proxy.newProxyInstance(
                    handlers.getClassLoader(), new Class<?>[] {handlers}, (_, _, _) -> {
                        action.accept(number);
                        return null;
                    });
            var install = signals.getMethod("handle", signals, handlers);
            Object ignored = handlers.getField("SIG_IGN").get(null);
            if (install.invoke(null, signal, handler) == ignored) {
                install.invoke(null, signal, ignored);
            }
        } catch (ReflectiveOperationException e) {
            // the system does not have it, or the virtual machine uses it
        }
    }

    /** Passes a signal on, when the program is there. */
    private static void pass(int signal, CompletableFuture<Process> started) {
        CompletableFuture<Void> _ = started.thenAccept(process -> {
            if (process.isAlive()) {
                Kill.send(process.pid(), signal);
            }
        });
    }

    private static boolean hasTerminal() {
        try (FileInputStream _ = new FileInputStream("/dev/tty")) {
            return true;
        } catch (IOException e) {
            return false;
        }
    }

    /** The system call, which is linked at the first signal. */
    private static final class Kill {
        private static final MethodHandle KILL = Linker.nativeLinker()
                .downcallHandle(
                        Linker.nativeLinker().defaultLookup().findOrThrow("kill"),
                        FunctionDescriptor.of(
                                ValueLayout.JAVA_INT, ValueLayout.JAVA_INT, ValueLayout.JAVA_INT));

        static void send(long process, int signal) {
            try {
                int _ = (int) KILL.invokeExact(Math.toIntExact(process), signal);
            } catch (Throwable e) { // it throws nothing
                throw new IllegalStateException(e);
            }
        }
    }
}
