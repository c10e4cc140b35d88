package dev.granary.coordinator.config;

/** A configuration mistake. The message says what is wrong, where, and what to change. */
public final class ConfigException extends Exception {
    private static final long serialVersionUID = 1L;

    /** A mistake, in a sentence for people. */
    public ConfigException(String message) {
        super(message);
    }
}
