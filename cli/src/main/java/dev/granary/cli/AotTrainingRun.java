package dev.granary.cli;

import picocli.CommandLine;

import java.io.PrintWriter;
import java.io.Writer;
import java.nio.file.Path;
import java.util.List;

/**
 * Training workload: runs the usual commands in one process, while {@link AotCacheBuilder} records
 * the classes that they load and the methods that they run.
 */
public final class AotTrainingRun {
    // later passes are compiled with the profile of the first
    private static final int NODES = 3;

    private AotTrainingRun() {}

    /**
     * Runs the workload.
     *
     * @param arguments a target for which the bucket of the environment has packs, and a working
     *     directory
     */
    public static void main(String[] arguments) {
        String target = arguments[0];
        for (int node = 1; node <= NODES; node++) {
            String directory = Path.of(arguments[1]).resolve("node-" + node).toString();
            run("warm", "--target", target, "--dir", directory);
            run("ls", "--long", "--dir", directory);
            run("stats", "--dir", directory);
        }
        run("verify", "--json", "--dir", Path.of(arguments[1]).resolve("node-1").toString());
        run("compact", "--dry-run", "--target", target);
    }

    private static void run(String... arguments) {
        CommandLine line = Main.commandLine(arguments);
        line.setOut(new PrintWriter(Writer.nullWriter()));
        int exitCode = line.execute(arguments);
        if (exitCode != 0) {
            System.err.println(List.of(arguments) + " ended with " + exitCode);
            System.exit(exitCode);
        }
    }
}
