package dev.granary.cli;

import com.google.gson.Gson;

import dev.granary.cli.device.HostDevice;
import dev.granary.cli.option.DeviceOption;
import dev.granary.coordinator.config.GranaryConfig;
import dev.granary.demo.DemoRole;
import dev.granary.demo.kernels.DemoKernels;
import dev.granary.gpu.KernelEngine;

import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
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

    @Option(names = DemoCommand.QUICK, description = "fewer kernels")
    private boolean quick;

    @Spec
    private CommandSpec spec = CommandSpec.create();

    @Override
    public Integer call() throws Exception {
        HostDevice chosen = device.device();
        try (KernelEngine<?> engine = chosen.open()) {
            DemoRole machine = new DemoRole(
                    role,
                    engine,
                    chosen.description(),
                    quick ? DemoKernels.quick() : DemoKernels.all(),
                    _ -> {});
            spec.commandLine()
                    .getOut()
                    .println(new Gson().toJson(machine.run(GranaryConfig.fromEnvironment())));
        }
        spec.commandLine().getOut().flush();
        return 0;
    }
}
