package dev.granary.coordinator.lookup;

import dev.granary.cache.Engine;
import dev.granary.coordinator.config.EnabledEngines;
import dev.granary.gpu.KernelEngine;

import java.util.Optional;
import java.util.function.UnaryOperator;

/** The engines of which lookups go beyond memory, which change at run time. Thread-safe. */
public final class EngineSwitch {
    private volatile EnabledEngines engines;

    /** Creates a switch with the configured engines. */
    public EngineSwitch(EnabledEngines configured) {
        this.engines = configured;
    }

    /** Returns the current engines. */
    public EnabledEngines engines() {
        return engines;
    }

    /** Changes the engines. */
    public synchronized void change(UnaryOperator<EnabledEngines> update) {
        engines = update.apply(engines);
    }

    /** Returns true if lookups of this engine go beyond memory. */
    boolean isOn(Engine<?, ?> engine) {
        EnabledEngines current = engines;
        // usually all, of which none has to be identified
        return current.disabled().isEmpty()
                || current.contains(new EnabledEngines.Family(
                        engine.target().backend(),
                        engine instanceof KernelEngine<?> kernels
                                ? Optional.of(kernels.kind())
                                : Optional.empty()));
    }
}
