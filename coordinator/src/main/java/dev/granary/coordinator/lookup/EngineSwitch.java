package dev.granary.coordinator.lookup;

import dev.granary.cache.Backend;
import dev.granary.cache.Engine;
import dev.granary.cache.constant.EngineKind;
import dev.granary.coordinator.config.EnabledEngines;
import dev.granary.gpu.KernelEngine;

import java.util.Optional;

/** The engines whose lookups go beyond memory; the set changes at run time. Thread-safe. */
public final class EngineSwitch {
    private volatile EnabledEngines engines;

    /** Creates a switch with the configured engines. */
    public EngineSwitch(EnabledEngines configured) {
        this.engines = configured;
    }

    /** Returns true if lookups of engines of this backend and kind go beyond memory. */
    public boolean isEnabled(Backend backend, EngineKind kind) {
        return engines.contains(family(backend, kind));
    }

    /** Changes whether lookups of engines of this backend and kind go beyond memory. */
    public synchronized void setEnabled(Backend backend, EngineKind kind, boolean isEnabled) {
        engines = engines.with(family(backend, kind), isEnabled);
    }

    /** Changes whether lookups of any engine go beyond memory. */
    public synchronized void setEnabled(boolean isEnabled) {
        engines = isEnabled ? EnabledEngines.ALL : EnabledEngines.none();
    }

    private static EnabledEngines.Family family(Backend backend, EngineKind kind) {
        return new EnabledEngines.Family(backend, Optional.of(kind));
    }

    /** Returns true if lookups of this engine go beyond memory. */
    public boolean isOn(Engine<?, ?> engine) {
        EnabledEngines current = engines;
        // usually all are enabled, and the engine need not be identified
        return current.disabled().isEmpty()
                || current.contains(new EnabledEngines.Family(
                        engine.target().backend(),
                        engine instanceof KernelEngine kernels
                                ? Optional.of(kernels.kind())
                                : Optional.empty()));
    }
}
