package dev.granary.cli.entry;

import dev.granary.cache.Backend;
import dev.granary.cache.Target;
import dev.granary.cli.option.CommandFailedException;
import dev.granary.cli.option.DeviceSelection;
import dev.granary.coordinator.config.ConfigException;
import dev.granary.gpu.Device;
import dev.granary.gpu.spirv.IntermediateDescriptor;

import picocli.CommandLine.Option;

import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.regex.Pattern;

/** The option that selects targets. Without it, they are those of this machine's devices. */
final class TargetOption {
    private static final Pattern NAMESPACE = Pattern.compile("[a-z0-9-]+/[a-z0-9_-][a-z0-9._-]*");

    @Option(
            names = "--target",
            paramLabel = "BACKEND/NAME",
            description = "a target as granary ls and doctor show it; may be given several times;"
                    + " default: those of this machine's devices")
    private List<String> targets = List.of();

    boolean isGiven() {
        return !targets.isEmpty();
    }

    /**
     * Returns the targets, in the form of {@link dev.granary.cache.Target#path()}: those given,
     * else those of the selected devices, those that their engines read, and that of intermediate
     * programs if one builds from them.
     */
    List<String> namespaces(DeviceSelection devices) throws ConfigException {
        for (String target : targets) {
            if (!NAMESPACE.matcher(target).matches()) {
                throw new ConfigException(
                        "--target must be such as opencl/intel-gpu-1.2, with the name that granary"
                                + " doctor shows, not "
                                + target);
            }
        }
        if (!targets.isEmpty()) {
            return targets;
        }
        try {
            Set<Target> found = new LinkedHashSet<>();
            for (Device device : devices.all()) {
                found.add(device.target());
                found.addAll(device.readableTargets());
                if (device.target().backend().equals(Backend.LEVEL_ZERO)) {
                    found.add(IntermediateDescriptor.TARGET);
                }
            }
            return found.stream().map(Target::path).toList();
        } catch (CommandFailedException e) {
            throw new CommandFailedException(e.getMessage() + "; or select a target with --target");
        }
    }
}
