package dev.granary.cli.option;

import dev.granary.cache.Target;
import dev.granary.gpu.offline.Ocloc;

import picocli.CommandLine.Option;

import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;

/** The option that declares targets whose devices are not in this machine. */
public final class OfflineTargetOption {
    @Option(
            names = "--target",
            paramLabel = "NAME",
            description = "compile by Intel's ocloc for devices that are not here: a product family"
                    + " such as tgllp, a PCI device id such as 0x9a49, either with opencl/ or"
                    + " level-zero/ before it, or a target as granary devices prints it; may be"
                    + " given several times")
    private List<String> names = List.of();

    /** Returns true if targets were given. */
    public boolean isGiven() {
        return !names.isEmpty();
    }

    /**
     * The declared targets with their compiler.
     *
     * @param ocloc the compiler
     * @param targets the targets, each once
     */
    public record Declared(Ocloc ocloc, List<Target> targets) {}

    /**
     * Returns the declared targets.
     *
     * @throws UsageException if there is no compiler, or a name has no target
     */
    public Declared declared() throws UsageException {
        Ocloc ocloc =
                switch (Ocloc.probe()) {
                    case Ocloc.Probe.Found found -> found.ocloc();
                    case Ocloc.Probe.Missing missing ->
                        throw new UsageException("--target needs a compiler: " + missing.cause());
                };
        Set<Target> targets = new LinkedHashSet<>();
        for (String name : names) {
            try {
                targets.addAll(ocloc.targets(name));
            } catch (IllegalArgumentException e) {
                throw new UsageException("--target " + name + ": " + e.getMessage());
            }
        }
        return new Declared(ocloc, new ArrayList<>(targets));
    }
}
