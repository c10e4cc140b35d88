package dev.granary.cli;

import dev.granary.cli.option.CommandFailedException;
import dev.granary.cli.process.JvmCommand;

import picocli.CommandLine.Command;
import picocli.CommandLine.Parameters;

import java.io.IOException;
import java.nio.file.Path;
import java.util.concurrent.Callable;

/**
 * {@code granary train}: creates the ahead-of-time cache of the JVM that lets this command start
 * fast. Called by the launcher.
 */
@Command(
        name = "train",
        hidden = true,
        description = "Create the file that lets this command start fast.")
final class AotTrainCommand implements Callable<Integer> {
    @Parameters(paramLabel = "FILE", description = "the file to create")
    private Path file = Path.of("");

    @Override
    public Integer call() throws Exception {
        try {
            new AotCacheBuilder(JvmCommand.command(AotTrainingRun.class)).make(file);
            return 0;
        } catch (IOException e) {
            throw new CommandFailedException(
                    "the fast-start file cannot be created: " + e.getMessage());
        }
    }
}
