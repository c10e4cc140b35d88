package dev.granary.cli;

import java.io.PrintWriter;
import java.io.Writer;
import java.nio.file.Path;
import java.util.List;
import picocli.CommandLine;

/** Plays the commands of an ordinary day in one process, for {@link AotCacheBuilder} to record what they load and run. */
public final class AotTrainingRun {
    private static final int NODES = 3; // what the first one runs through is compiled better in the next

    private AotTrainingRun() {}

    /** Arguments: the target that the bucket of the environment has packs for, and a directory to work in. */
    public static void main(String[] arguments) {
        String target = arguments[0];
        for (int node = 1; node <= NODES; node++) {
            String directory = Path.of(arguments[1]).resolve("node-" + node).toString();
            play("warm", "--target", target, "--dir", directory);
            play("ls", "--long", "--dir", directory);
            play("stats", "--dir", directory);
        }
        play("verify", "--json", "--dir", Path.of(arguments[1]).resolve("node-1").toString());
        play("compact", "--dry-run", "--target", target);
    }

    private static void play(String... arguments) {
        CommandLine line = Main.commandLine(arguments);
        line.setOut(new PrintWriter(Writer.nullWriter()));
        int exitCode = line.execute(arguments);
        if (exitCode != 0) {
            System.err.println(List.of(arguments) + " ended with " + exitCode);
            System.exit(exitCode);
        }
    }
}
