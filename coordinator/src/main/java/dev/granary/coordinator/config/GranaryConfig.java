package dev.granary.coordinator.config;

import dev.granary.cache.Backend;
import dev.granary.cache.Engine;
import dev.granary.cache.EvictionPolicy;
import dev.granary.cache.constant.ConstantLimits;
import dev.granary.cache.constant.EngineKind;
import dev.granary.gpu.KernelEngine;

import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Stream;

/**
 * Configuration of Granary in this process. Immutable.
 *
 * <p>Each value comes from the first source that has it: code (the {@link GranaryConfigBuilder}, or
 * the command line), the environment, the configuration file, the default. The TOML file is the one
 * that {@code GRANARY_CONFIG} names, else {@code granary/config.toml} under {@code XDG_CONFIG_HOME}
 * (default {@code ~/.config}), if it exists.
 *
 * @param buckets the shared buckets, in lookup order; empty: none
 * @param directory the directory of the local tier
 * @param capacityBytes the capacity of the local tier, in bytes; 0: no local tier, and its
 *     directory is not touched
 * @param eviction the eviction policy of the local tier
 * @param primitiveCacheCapacity the largest number of primitives in memory
 * @param localWait the longest wait of a lookup for another process of this machine that compiles
 *     the same id; zero: no wait
 * @param bucketWait the initial time budget of lookups for each bucket; if it is used up, the
 *     bucket is skipped
 * @param flushLimit the longest wait of {@code close} for uploads; the next process does the rest
 * @param constantLimits the memory for constant tensors on each device, for the configured kinds of
 *     engine
 * @param recording the manifest to which the kernels of this process are recorded; empty: none
 * @param enabled the engines whose primitives are cached beyond memory
 */
public record GranaryConfig(
        List<BucketConfig> buckets,
        Path directory,
        long capacityBytes,
        EvictionPolicy eviction,
        int primitiveCacheCapacity,
        Duration localWait,
        Duration bucketWait,
        Duration flushLimit,
        ConstantLimits constantLimits,
        Optional<Path> recording,
        EnabledEngines enabled) {
    /** The version of this library, such as {@code 0.1.0}; part of the metadata and of no id. */
    public static final String VERSION = "0.1.0";

    /** The default flush limit: 5 seconds. */
    public static final Duration DEFAULT_FLUSH_LIMIT = Duration.ofSeconds(5);

    /**
     * The default local wait: 60 seconds. If the wait is shorter than the compile, a process pays
     * for both. The longest measured compiles took 60 seconds; whole programs rarely take more.
     */
    public static final Duration DEFAULT_LOCAL_WAIT = Duration.ofSeconds(60);

    /** The default bucket wait: 4 seconds. */
    public static final Duration DEFAULT_BUCKET_WAIT = Duration.ofSeconds(4);

    /**
     * Creates a configuration with an absolute directory.
     *
     * @throws IllegalArgumentException if a capacity or a time is negative
     */
    public GranaryConfig {
        buckets = List.copyOf(buckets);
        directory = directory.toAbsolutePath().normalize();
        recording = recording.map(file -> file.toAbsolutePath().normalize());
        if (capacityBytes < 0
                || primitiveCacheCapacity < 0
                || localWait.isNegative()
                || bucketWait.isNegative()
                || flushLimit.isNegative()) {
            throw new IllegalArgumentException("Capacities and times must be 0 or more, not "
                    + capacityBytes + ", " + primitiveCacheCapacity + ", " + localWait + ", "
                    + bucketWait + " and " + flushLimit);
        }
    }

    /**
     * Parses a size, such as {@code 4GiB}, or a number of MiB.
     *
     * @param place the place of the text, for messages
     * @return the size in bytes
     * @throws ConfigException if the text is not a size, or negative
     */
    public static long size(String text, String place) throws ConfigException {
        return Setting.CAPACITY.parse(text, place);
    }

    /** Returns a builder. */
    public static GranaryConfigBuilder builder() {
        return new GranaryConfigBuilder(System.getenv());
    }

    /** Returns the configuration of the environment, the file and the defaults. */
    public static GranaryConfig fromEnvironment() throws ConfigException {
        return builder().build();
    }

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
         * Parses a text such as {@code off} or {@code opencl.cpu:off;level-zero:off}. A part names
         * a backend, a kind of engine, or both with a dot, and switches these engines.
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
            String kind = family.kind()
                    .map(each -> each.name().toLowerCase(Locale.ROOT))
                    .orElse("");
            return name.equals(backend)
                    || (!kind.isEmpty()
                            && (name.equals(kind) || name.equals(backend + "." + kind)));
        }

        private static boolean isOn(String text) {
            return switch (text) {
                case "on", "true", "1" -> true;
                case "off", "false", "0" -> false;
                default -> throw new IllegalArgumentException(text);
            };
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
                            engine instanceof KernelEngine kernels
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
}
