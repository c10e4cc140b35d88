package dev.granary.cli.operation;

import dev.granary.cache.support.CheckResult.Notice;
import dev.granary.cache.support.CheckResult.Problem;
import dev.granary.cache.support.CheckResult.Sound;
import dev.granary.cli.command.TierCommand;
import dev.granary.cli.operation.Doctor.Check;
import dev.granary.cli.option.DeviceOption;
import dev.granary.cli.output.Report;

import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

import java.util.List;

/**
 * {@code granary doctor}: checks all that Granary needs, and reports cause and cure of each
 * problem.
 */
@Command(
        name = "doctor",
        mixinStandardHelpOptions = true,
        description = "Show the devices; check them, the local directory and the buckets.")
public final class DoctorCommand extends TierCommand {
    @Mixin
    private DeviceOption device = new DeviceOption();

    @Option(
            names = "--quick",
            description = "send one request to each bucket and write nothing: whether devices,"
                    + " directory and buckets are there, for probes of a running service")
    private boolean isQuick;

    @Override
    public Integer call() throws Exception {
        List<Check> checks = new Doctor(stores().config(), isQuick).examine(device.selection());
        boolean isHealthy = checks.stream().map(Check::result).noneMatch(Problem.class::isInstance);
        Report report = report().data("healthy", isHealthy);
        DevicesCommand.add(report);
        checks.forEach(check -> add(check, report.part("checks")));
        report.print();
        return isHealthy ? 0 : 1;
    }

    private static void add(Check check, Report report) {
        report.data("subject", check.subject());
        switch (check.result()) {
            case Sound(String finding) ->
                report.data("state", "sound")
                        .data("finding", finding)
                        .line("ok       " + check.subject() + ": " + finding);
            case Notice(String finding, String advice) ->
                report.data("state", "notice")
                        .data("finding", finding)
                        .data("advice", advice)
                        .line("note     " + check.subject() + ": " + finding)
                        .line("         -> " + advice);
            case Problem(String cause, String cure) ->
                report.data("state", "problem")
                        .data("cause", cause)
                        .data("cure", cure)
                        .line("PROBLEM  " + check.subject() + ": " + cause)
                        .line("         -> " + cure);
        }
    }
}
