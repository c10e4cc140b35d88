package dev.granary.coordinator.config;

/** The entries whose first restore is tried in a process of its own. */
public enum RestoreTrialPolicy {
    /** None. */
    OFF,
    /** Those that another machine compiled, or of which the producer is unknown. */
    FOREIGN
}
