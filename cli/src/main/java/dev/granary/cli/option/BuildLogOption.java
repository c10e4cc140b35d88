package dev.granary.cli.option;

import dev.granary.cli.output.BuildLog;

import picocli.CommandLine.Option;

/** The option for how much of a build log is shown. */
public final class BuildLogOption {
    @Option(
            names = "--verbose",
            description =
                    "print the whole build log of a kernel that does not compile, not only its"
                            + " first "
                            + BuildLog.MAX_LINES + " lines")
    private boolean isWhole;

    public BuildLog.Extent extent() {
        return isWhole ? BuildLog.Extent.WHOLE : BuildLog.Extent.FIRST_LINES;
    }
}
