package dev.granary.testing;

import java.io.IOException;
import java.util.concurrent.TimeUnit;

/** Runs of programs of the operating system, such as {@code mount}. */
public final class SystemTool {
    private static final long LIMIT_MINUTES = 10;

    private SystemTool() {}

    /**
     * Runs a program without its output. Returns true if it exits with 0, and false if it is not
     * installed or exits otherwise.
     */
    public static boolean run(String... command) throws InterruptedException {
        try {
            Process process = new ProcessBuilder(command)
                    .redirectErrorStream(true)
                    .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                    .start();
            return process.waitFor(LIMIT_MINUTES, TimeUnit.MINUTES) && process.exitValue() == 0;
        } catch (IOException e) {
            return false; // not installed
        }
    }
}
