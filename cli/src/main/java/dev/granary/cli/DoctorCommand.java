package dev.granary.cli;

import com.google.gson.JsonArray;

import dev.granary.cli.output.JsonOutput;
import dev.granary.coordinator.admin.Doctor;
import dev.granary.coordinator.admin.Doctor.Check;
import dev.granary.coordinator.config.GranaryConfig;

import picocli.CommandLine.Command;

import java.io.PrintWriter;
import java.util.List;

/**
 * {@code granary doctor}: checks all that Granary needs, and reports cause and cure of each
 * problem.
 */
@Command(
        name = "doctor",
        mixinStandardHelpOptions = true,
        description = "Check OpenCL, the local directory and the bucket.")
final class DoctorCommand extends TierCommand {
    @Override
    public Integer call() throws Exception {
        PrintWriter out = out();
        GranaryConfig config = stores().config();
        List<Check> checks = Doctor.examine(config, OpenClExaminer.examine());
        boolean isHealthy = checks.stream().noneMatch(Check.Problem.class::isInstance);
        if (isJson()) {
            JsonArray array = new JsonArray();
            checks.forEach(check -> array.add(
                    switch (check) {
                        case Check.Sound sound ->
                            JsonOutput.object(
                                    "subject",
                                    sound.subject(),
                                    "state",
                                    "sound",
                                    "finding",
                                    sound.finding());
                        case Check.Notice notice ->
                            JsonOutput.object(
                                    "subject",
                                    notice.subject(),
                                    "state",
                                    "notice",
                                    "finding",
                                    notice.finding(),
                                    "advice",
                                    notice.advice());
                        case Check.Problem problem ->
                            JsonOutput.object(
                                    "subject",
                                    problem.subject(),
                                    "state",
                                    "problem",
                                    "cause",
                                    problem.cause(),
                                    "cure",
                                    problem.cure());
                    }));
            JsonOutput.print(out, JsonOutput.object("healthy", isHealthy, "checks", array));
        } else {
            for (Check check : checks) {
                out.println(
                        switch (check) {
                            case Check.Sound sound ->
                                "ok       " + sound.subject() + ": " + sound.finding();
                            case Check.Notice notice ->
                                withAdvice(
                                        "note     ",
                                        notice.subject(),
                                        notice.finding(),
                                        notice.advice());
                            case Check.Problem problem ->
                                withAdvice(
                                        "PROBLEM  ",
                                        problem.subject(),
                                        problem.cause(),
                                        problem.cure());
                        });
            }
            out.flush();
        }
        return isHealthy ? 0 : 1;
    }

    private static String withAdvice(String state, String subject, String finding, String advice) {
        return state + subject + ": " + finding + System.lineSeparator() + "         -> " + advice;
    }
}
