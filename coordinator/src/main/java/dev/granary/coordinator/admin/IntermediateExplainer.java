package dev.granary.coordinator.admin;

import dev.granary.cache.BinaryKind;
import dev.granary.cache.RestoreException;
import dev.granary.coordinator.admin.LookupExplanation.Outcome;
import dev.granary.coordinator.admin.LookupExplanation.Result;
import dev.granary.coordinator.admin.LookupExplanation.TierAnswer;
import dev.granary.coordinator.config.ConfigException;
import dev.granary.gpu.KernelDescriptor;
import dev.granary.gpu.spirv.FrontEnd;
import dev.granary.gpu.spirv.IntermediateDescriptor;
import dev.granary.gpu.spirv.SpirvCompiler;

import java.util.List;
import java.util.Optional;

/**
 * Explainer of the first step of a compile for drivers that take SPIR-V: the search for the
 * intermediate program, as {@link FrontEnd} makes it. It compiles nothing and changes nothing. A
 * program that is found may still be refused by the driver.
 */
public final class IntermediateExplainer {
    private final LookupExplainer lookups;
    private final SpirvCompiler compiler;

    /**
     * Creates an explainer.
     *
     * @param lookups explains the searches
     * @param compiler the front end of the engine
     */
    public IntermediateExplainer(LookupExplainer lookups, SpirvCompiler compiler) {
        this.lookups = lookups;
        this.compiler = compiler;
    }

    /**
     * Explains where the SPIR-V of a kernel comes from.
     *
     * @param kernel a kernel with sources, whose compile a lookup has reached
     * @throws ConfigException if a tier cannot be opened as configured
     */
    public IntermediateOutcome explain(KernelDescriptor kernel) throws ConfigException {
        IntermediateDescriptor first = IntermediateDescriptor.of(kernel);
        return switch (compiler.presence()) {
            case SpirvCompiler.Presence.Unidentified _ -> new IntermediateOutcome.CompiledOnly();
            case SpirvCompiler.Presence.Absent _ ->
                stored(first)
                        .<IntermediateOutcome>map(found -> found)
                        .orElseGet(IntermediateOutcome.Missing::new);
            case SpirvCompiler.Presence.Installed(String identity) -> {
                Optional<IntermediateOutcome.Stored> found = stored(first);
                if (found.filter(program -> !program.frontEnd().equals(identity))
                        .isPresent()) {
                    found = stored(first.by(identity));
                }
                yield found.<IntermediateOutcome>map(program -> program)
                        .orElseGet(() -> new IntermediateOutcome.Compiled(identity));
            }
        };
    }

    /** Returns the program that a lookup of the key finds; empty if none. */
    private Optional<IntermediateOutcome.Stored> stored(IntermediateDescriptor key)
            throws ConfigException {
        LookupExplanation explanation = lookups.explain(key.getId(), List.of(), Optional.empty());
        Outcome outcome = explanation.outcome() instanceof Outcome.Wait wait
                ? wait.otherwise()
                : explanation.outcome();
        if (!(outcome instanceof Outcome.Restore)) {
            return Optional.empty();
        }
        TierAnswer last = explanation.answers().getLast();
        if (!(last.result() instanceof Result.Usable usable)) {
            return Optional.empty();
        }
        try {
            String frontEnd = new FrontEnd(compiler)
                    .create(key, usable.entry().binaries(), BinaryKind.KERNEL)
                    .frontEnd();
            return Optional.of(new IntermediateOutcome.Stored(last.tier(), frontEnd));
        } catch (RestoreException e) {
            return Optional.empty(); // as in a lookup, which discards it
        }
    }
}
