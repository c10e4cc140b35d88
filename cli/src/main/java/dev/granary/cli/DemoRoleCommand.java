package dev.granary.cli;

import com.google.gson.Gson;

import dev.granary.cli.option.DeviceOption;
import dev.granary.coordinator.config.GranaryConfig;
import dev.granary.demo.DemoRole;

import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

import java.util.concurrent.Callable;

/** {@code granary demo-role}: one machine of the demo. Started by {@code granary demo}. */
@Command(name = "demo-role", hidden = true, description = "One machine of the demo.")
final class DemoRoleCommand implements Callable<Integer> {
    @Parameters(paramLabel = "ROLE", description = "ci, node or laptop")
    private String role = "";

    @Mixin
    private DeviceOption device = new DeviceOption();

    @Spec
    private CommandSpec spec = CommandSpec.create();

    @Override
    public Integer call() throws Exception {
        DemoRole machine = new DemoRole(role, device.device(), _ -> {});
        spec.commandLine()
                .getOut()
                .println(new Gson().toJson(machine.run(GranaryConfig.fromEnvironment())));
        spec.commandLine().getOut().flush();
        return 0;
    }
}
