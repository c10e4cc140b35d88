package dev.granary.cli.operation;

import com.google.gson.JsonArray;
import com.google.gson.JsonObject;

import dev.granary.cache.support.CheckResult.Notice;
import dev.granary.cache.support.CheckResult.Problem;
import dev.granary.cache.support.CheckResult.Sound;
import dev.granary.cli.command.TierCommand;
import dev.granary.cli.operation.Doctor.Check;
import dev.granary.cli.option.DeviceOption;
import dev.granary.cli.output.JsonOutput;
import dev.granary.coordinator.config.GranaryConfig;

import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;

import java.io.PrintWriter;
import java.util.List;

/**
 * {@code granary doctor}: checks all that Granary needs, and reports cause and cure of each
 * problem.
 */
@Command(
        name = "doctor",
        mixinStandardHelpOptions = true,
        description = "Check the devices, the local directory and the bucket.")
public final class DoctorCommand extends TierCommand {
    @Mixin
    private DeviceOption device = new DeviceOption();

    @Override
    public Integer call() throws Exception {
        PrintWriter out = out();
        GranaryConfig config = stores().config();
        List<Check> checks = Doctor.examine(config, device.selection());
        boolean isHealthy = checks.stream().map(Check::result).noneMatch(Problem.class::isInstance);
        if (isJson()) {
            JsonArray array = new JsonArray();
            checks.forEach(check -> array.add(json(check)));
            JsonOutput.print(out, JsonOutput.object("healthy", isHealthy, "checks", array));
        } else {
            checks.forEach(check -> out.println(text(check)));
            out.flush();
        }
        return isHealthy ? 0 : 1;
    }

    private static JsonObject json(Check check) {
        String subject = check.subject();
        return switch (check.result()) {
            case Sound(String finding) ->
                JsonOutput.object("subject", subject, "state", "sound", "finding", finding);
            case Notice(String finding, String advice) ->
                JsonOutput.object(
                        "subject", subject, "state", "notice", "finding", finding, "advice",
                        advice);
            case Problem(String cause, String cure) ->
                JsonOutput.object(
                        "subject", subject, "state", "problem", "cause", cause, "cure", cure);
        };
    }

    private static String text(Check check) {
        String subject = check.subject() + ": ";
        return switch (check.result()) {
            case Sound(String finding) -> "ok       " + subject + finding;
            case Notice(String finding, String advice) ->
                "note     " + subject + withAdvice(finding, advice);
            case Problem(String cause, String cure) ->
                "PROBLEM  " + subject + withAdvice(cause, cure);
        };
    }

    private static String withAdvice(String finding, String advice) {
        return finding + System.lineSeparator() + "         -> " + advice;
    }
}
