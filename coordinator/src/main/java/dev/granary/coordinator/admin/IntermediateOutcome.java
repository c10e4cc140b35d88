package dev.granary.coordinator.admin;

/** The origin of the SPIR-V of a kernel, if a lookup compiles it for a driver that takes SPIR-V. */
public sealed interface IntermediateOutcome {
    /**
     * The intermediate program of a tier.
     *
     * @param tier {@code local}, or the name of the bucket
     * @param frontEnd the front end that made it
     */
    record Stored(String tier, String frontEnd) implements IntermediateOutcome {}

    /**
     * The front end of this machine. No tier has a program of it that a lookup may use.
     *
     * @param frontEnd its name and version
     */
    record Compiled(String frontEnd) implements IntermediateOutcome {}

    /** The front end of this machine, which prints no version: its programs are not stored. */
    record CompiledOnly() implements IntermediateOutcome {}

    /** None: no tier has a program, and this machine has no front end. The compile fails. */
    record Missing() implements IntermediateOutcome {}
}
