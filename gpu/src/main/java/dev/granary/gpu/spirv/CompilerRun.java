package dev.granary.gpu.spirv;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;

/**
 * The end of a compiler's process.
 *
 * @param exitCode the exit code; 0 is success
 * @param output the text of both its outputs
 */
record CompilerRun(int exitCode, String output) {
    private static final long LIMIT_MINUTES = 10;

    /**
     * Runs a compiler to its end. After ten minutes, and if the thread is interrupted, the process
     * is killed.
     *
     * @param directory the working directory, in which the output is recorded meanwhile
     * @throws IOException if the process cannot be started, or was killed
     */
    static CompilerRun of(List<String> command, Path directory) throws IOException {
        Path recorded = Files.createTempFile(directory, "compiler", ".out");
        Process process = new ProcessBuilder(command)
                .directory(directory.toFile())
                .redirectErrorStream(true)
                .redirectOutput(recorded.toFile())
                .redirectInput(ProcessBuilder.Redirect.from(Path.of("/dev/null").toFile()))
                .start();
        try {
            if (!process.waitFor(LIMIT_MINUTES, TimeUnit.MINUTES)) {
                throw new IOException(
                        command.getFirst() + " has not ended within " + LIMIT_MINUTES + " minutes");
            }
            String output = new String(Files.readAllBytes(recorded), UTF_8);
            return new CompilerRun(process.exitValue(), output.strip());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IOException(command.getFirst() + " was interrupted", e);
        } finally {
            process.destroyForcibly();
        }
    }
}
