package dev.granary.cli;

import dev.granary.cli.process.ThisJvm;
import java.io.IOException;
import java.nio.file.Path;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Parameters;

/** {@code granary train}: makes the file that lets this command start fast, for the launcher. */
@Command(name = "train", hidden = true, description = "Make the file that lets this command start fast.")
final class TrainCommand implements Callable<Integer> {
    @Parameters(paramLabel = "FILE", description = "where to")
    private Path file = Path.of("");

    @Override
    public Integer call() throws Exception {
        try {
            new FastStart(ThisJvm.command(Rehearsal.class)).make(file);
            return 0;
        } catch (IOException e) {
            throw new FailedException("no fast start: " + e.getMessage());
        }
    }
}
