package dev.granary.cli.option;

import dev.granary.gpu.opencl.OpenCl;

import picocli.CommandLine.Option;

import java.util.List;
import java.util.regex.Pattern;

/** The option that selects targets. Without it, they are those of this machine's devices. */
public final class TargetOption {
    private static final Pattern NAMESPACE = Pattern.compile("[a-z0-9-]+/[a-z0-9_-][a-z0-9._-]*");

    @Option(
            names = "--target",
            paramLabel = "BACKEND/NAME",
            description = "a target as granary ls and doctor show it; may be given several times;"
                    + " default: those of this machine's devices")
    private List<String> targets = List.of();

    /** Returns true if targets were given. */
    public boolean isGiven() {
        return !targets.isEmpty();
    }

    /** Returns the targets, in the form of {@link dev.granary.cache.Target#path()}. */
    public List<String> namespaces() throws CommandFailedException, UsageException {
        for (String target : targets) {
            if (!NAMESPACE.matcher(target).matches()) {
                throw new UsageException(
                        "--target must be such as opencl/intel-gpu-1.2, with the name that granary"
                                + " doctor shows, not "
                                + target);
            }
        }
        if (!targets.isEmpty()) {
            return targets;
        }
        return switch (OpenCl.probe()) {
            case OpenCl.Probe.Found found
            when !found.devices().isEmpty() ->
                found.devices().stream()
                        .map(device -> device.target().path())
                        .distinct()
                        .toList();
            case OpenCl.Probe.Found _ ->
                throw new CommandFailedException(
                        "the OpenCL loader found no device; select a target with --target");
            case OpenCl.Probe.Missing missing ->
                throw new CommandFailedException("no OpenCL was found (" + missing.cause()
                        + "); select a target with --target");
        };
    }
}
