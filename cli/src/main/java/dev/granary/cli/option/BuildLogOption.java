package dev.granary.cli.option;

import dev.granary.cli.output.BuildLog;
import picocli.CommandLine.Option;

/** The option that says how much of a build log is shown. */
public final class BuildLogOption {
    @Option(names = "--verbose", description = "print the whole build log of a kernel that does not compile, not its first " + BuildLog.LINES + " lines")
    private boolean isWhole;

    public BuildLog.Shown shown() {
        return isWhole ? BuildLog.Shown.WHOLE : BuildLog.Shown.FIRST_LINES;
    }
}
