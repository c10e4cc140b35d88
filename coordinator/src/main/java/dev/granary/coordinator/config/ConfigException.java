package dev.granary.coordinator.config;

/**
 * Thrown if the configuration is wrong. The message names the mistake, its place, and what to
 * change.
 */
public final class ConfigException extends Exception {
    private static final long serialVersionUID = 1L;

    /** Creates an exception with a sentence for people. */
    public ConfigException(String message) {
        super(message);
    }
}
