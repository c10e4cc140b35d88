package dev.granary.coordinator.cli;

import com.google.gson.JsonArray;
import dev.granary.coordinator.Doctor;
import dev.granary.coordinator.Doctor.Check;
import dev.granary.coordinator.config.GranaryConfig;
import java.io.PrintWriter;
import java.util.List;
import picocli.CommandLine.Command;

/** {@code granary doctor}: tries out all that Granary needs and names cause and cure of what does not work. */
@Command(name = "doctor", mixinStandardHelpOptions = true, description = "Try out OpenCL, the local directory and the bucket.")
final class DoctorCommand extends StoreCommand {
    @Override
    public Integer call() throws Exception {
        PrintWriter out = out();
        GranaryConfig config = stores().config();
        List<Check> checks = Doctor.examine(config);
        boolean isWell = checks.stream().noneMatch(Check.Problem.class::isInstance);
        if (isJson()) {
            JsonArray array = new JsonArray();
            checks.forEach(check -> array.add(switch (check) {
                case Check.Sound sound -> Json.object("subject", sound.subject(), "state", "sound", "finding", sound.finding());
                case Check.Problem problem -> Json.object("subject", problem.subject(), "state", "problem", "cause", problem.cause(), "cure",
                        problem.cure());
            }));
            Json.print(out, Json.object("well", isWell, "checks", array));
        } else {
            for (Check check : checks) {
                out.println(switch (check) {
                    case Check.Sound sound -> "ok       " + sound.subject() + ": " + sound.finding();
                    case Check.Problem problem -> "PROBLEM  " + problem.subject() + ": " + problem.cause() + System.lineSeparator()
                            + "         -> " + problem.cure();
                });
            }
            out.flush();
        }
        return isWell ? 0 : 1;
    }
}
