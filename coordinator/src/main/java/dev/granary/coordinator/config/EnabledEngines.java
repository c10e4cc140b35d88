package dev.granary.coordinator.config;

import dev.granary.cache.Backend;
import dev.granary.cache.Engine;
import dev.granary.cache.constant.EngineKind;
import dev.granary.gpu.KernelEngine;

import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Stream;

/**
 * The engines whose primitives are cached beyond the memory of the process. Immutable.
 *
 * @param disabled the families of engines that are cached in memory only
 */
public record EnabledEngines(Set<Family> disabled) {
    /** All engines. */
    public static final EnabledEngines ALL = new EnabledEngines(Set.of());

    /** No engine. */
    public static final EnabledEngines NONE = new EnabledEngines(Set.copyOf(Family.all()));

    /** The form of a text, for messages. */
    static final String FORM =
            "on, off, or parts such as opencl:off;cpu:off;opencl.gpu:on, of which"
                    + " later ones override earlier ones";

    /** Copies the set. */
    public EnabledEngines {
        disabled = Set.copyOf(disabled);
    }

    /**
     * The engines of one backend and kind.
     *
     * @param backend the backend
     * @param kind the kind of the device; empty for an engine that does not report one
     */
    public record Family(Backend backend, Optional<EngineKind> kind) {
        private static List<Family> all() {
            return Arrays.stream(Backend.values())
                    .flatMap(backend -> Stream.concat(
                                    Stream.of(Optional.<EngineKind>empty()),
                                    Arrays.stream(EngineKind.values()).map(Optional::of))
                            .map(kind -> new Family(backend, kind)))
                    .toList();
        }
    }

    /**
     * Parses a text such as {@code off} or {@code opencl.cpu:off;level-zero:off}. A part names a
     * backend, a kind of engine, or both with a dot, and switches these engines.
     *
     * @throws IllegalArgumentException if the text has another form
     */
    static EnabledEngines parse(String text) {
        EnabledEngines parsed = ALL;
        for (String part : text.toLowerCase(Locale.ROOT).split("[;,]", -1)) {
            String[] sides = part.strip().split(":", -1);
            if (sides.length > 2) {
                throw new IllegalArgumentException(text);
            }
            String name = sides.length == 1 ? "" : sides[0].strip();
            boolean isOn = isOn(sides[sides.length - 1].strip());
            List<Family> named = Family.all().stream()
                    .filter(family -> sides.length == 1 || isNamed(family, name))
                    .toList();
            if (named.isEmpty()) {
                throw new IllegalArgumentException(text);
            }
            for (Family family : named) {
                parsed = parsed.with(family, isOn);
            }
        }
        return parsed;
    }

    private static boolean isNamed(Family family, String name) {
        String backend = family.backend().path();
        String kind =
                family.kind().map(each -> each.name().toLowerCase(Locale.ROOT)).orElse("");
        return name.equals(backend)
                || (!kind.isEmpty() && (name.equals(kind) || name.equals(backend + "." + kind)));
    }

    private static boolean isOn(String text) {
        return switch (text) {
            case "on", "true", "1" -> true;
            case "off", "false", "0" -> false;
            default -> throw new IllegalArgumentException(text);
        };
    }

    /** Returns true if engines of this backend and kind are enabled. */
    public boolean contains(Backend backend, EngineKind kind) {
        return contains(new Family(backend, Optional.of(kind)));
    }

    /** Returns true if engines of that family are enabled. */
    public boolean contains(Family family) {
        return !disabled.contains(family);
    }

    /** Returns true if {@code engine} is enabled. */
    public boolean contains(Engine<?, ?> engine) {
        // usually all are enabled, and the engine need not be identified
        return disabled.isEmpty()
                || contains(new Family(
                        engine.target().backend(),
                        engine instanceof KernelEngine<?> kernels
                                ? Optional.of(kernels.kind())
                                : Optional.empty()));
    }

    /** Returns these engines with, or without, a family. */
    public EnabledEngines with(Family family, boolean isEnabled) {
        Set<Family> changed = new HashSet<>(disabled);
        if (isEnabled) {
            changed.remove(family);
        } else {
            changed.add(family);
        }
        return new EnabledEngines(changed);
    }
}
