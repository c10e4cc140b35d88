package dev.granary.coordinator.config;

import dev.granary.cache.Backend;
import dev.granary.cache.Engine;
import dev.granary.cache.EvictionPolicy;
import dev.granary.cache.constant.ConstantLimits;
import dev.granary.cache.constant.EngineKind;
import dev.granary.cache.format.EntrySigner;
import dev.granary.cache.format.TrustPolicy;
import dev.granary.coordinator.toml.NearestName;
import dev.granary.gpu.KernelEngine;

import java.nio.file.Path;
import java.security.PublicKey;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
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
 * @param claimWait the longest wait of a lookup for another process or machine that compiles the
 *     same id; zero: no wait
 * @param bucketWait the initial time budget of lookups for each bucket; if it is used up, the
 *     bucket is skipped
 * @param flushLimit the longest wait of {@code close} for uploads; the next process does the rest
 * @param constantLimits the memory for constant tensors on each device, for the configured kinds of
 *     engine
 * @param recording the manifest to which the kernels of this process are recorded; empty: none
 * @param enabled the engines whose primitives are cached beyond memory
 * @param localTrust which signatures of entries in the directory count
 * @param trustedKeys the public keys whose signatures may count, by name; empty for a revoked one
 * @param signer signs what this process compiles; empty: entries stay unsigned
 */
public record GranaryConfig(
        List<BucketConfig> buckets,
        Path directory,
        long capacityBytes,
        EvictionPolicy eviction,
        int primitiveCacheCapacity,
        Duration claimWait,
        Duration bucketWait,
        Duration flushLimit,
        ConstantLimits constantLimits,
        Optional<Path> recording,
        EnabledEngines enabled,
        TrustPolicy localTrust,
        Map<String, Optional<PublicKey>> trustedKeys,
        Optional<EntrySigner> signer) {
    /** The version of this library, such as {@code 0.1.0}; part of the metadata and of no id. */
    public static final String VERSION = "0.1.0";

    /** The default flush limit: 5 seconds. */
    public static final Duration DEFAULT_FLUSH_LIMIT = Duration.ofSeconds(5);

    /**
     * The default claim wait: 60 seconds. If the wait is shorter than the compile, a process pays
     * for both. The longest measured compiles took 60 seconds; whole programs rarely take more.
     */
    public static final Duration DEFAULT_CLAIM_WAIT = Duration.ofSeconds(60);

    /**
     * The default bucket wait: 1.8 seconds, so that a silent bucket costs a process less than two,
     * with the warning. The start of a client is not part of it.
     */
    public static final Duration DEFAULT_BUCKET_WAIT = Duration.ofMillis(1_800);

    /**
     * Creates a configuration with an absolute directory.
     *
     * @throws IllegalArgumentException if a capacity or a time is negative
     */
    public GranaryConfig {
        buckets = List.copyOf(buckets);
        directory = directory.toAbsolutePath().normalize();
        trustedKeys = Map.copyOf(trustedKeys);
        recording = recording.map(file -> file.toAbsolutePath().normalize());
        if (capacityBytes < 0
                || primitiveCacheCapacity < 0
                || claimWait.isNegative()
                || bucketWait.isNegative()
                || flushLimit.isNegative()) {
            throw new IllegalArgumentException("Capacities and times must be 0 or more, not "
                    + capacityBytes + ", " + primitiveCacheCapacity + ", " + claimWait + ", "
                    + bucketWait + " and " + flushLimit);
        }
    }

    /** Returns this configuration with the capacity 0 of the local tier. */
    public GranaryConfig withoutLocalTier() {
        return new GranaryConfig(
                buckets,
                directory,
                0,
                eviction,
                primitiveCacheCapacity,
                claimWait,
                bucketWait,
                flushLimit,
                constantLimits,
                recording,
                enabled,
                localTrust,
                trustedKeys,
                signer);
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
     * @param rules the rules, of which the last one that applies to an engine decides; without any
     *     it is enabled
     */
    public record EnabledEngines(List<Rule> rules) {
        /** All engines. */
        public static final EnabledEngines ALL = new EnabledEngines(List.of());

        /** No engine. */
        public static final EnabledEngines NONE =
                new EnabledEngines(List.of(new Rule(Optional.empty(), Optional.empty(), false)));

        /** The form of a text, for messages. */
        static final String FORM =
                "on, off, or parts such as opencl:off;cpu:off;opencl.gpu:on, of which"
                        + " later ones override earlier ones";

        /** Copies the list. */
        public EnabledEngines {
            rules = List.copyOf(rules);
        }

        /**
         * Whether some engines are enabled.
         *
         * @param backend the backend; empty for all
         * @param kind the kind of device; empty for all engines, also those that report none
         */
        public record Rule(
                Optional<Backend> backend, Optional<EngineKind> kind, boolean isEnabled) {
            private boolean applies(Backend ofEngine, Optional<EngineKind> kindOfEngine) {
                return (backend.isEmpty() || backend.get().equals(ofEngine))
                        && (kind.isEmpty() || kind.equals(kindOfEngine));
            }
        }

        /**
         * Parses a text such as {@code off} or {@code opencl.cpu:off;level-zero:off}. A part names
         * a backend, a kind of engine, or both with a dot, and switches these engines.
         *
         * @throws IllegalArgumentException if the text has another form, or a name is close to that
         *     of a backend of Granary
         */
        static EnabledEngines parse(String text) {
            EnabledEngines parsed = ALL;
            for (String part : text.toLowerCase(Locale.ROOT).split("[;,]", -1)) {
                String[] sides = part.strip().split(":", -1);
                boolean isOn = isOn(sides[sides.length - 1].strip());
                parsed = switch (sides.length) {
                    case 1 -> isOn ? ALL : NONE;
                    case 2 -> parsed.with(rule(sides[0].strip(), isOn));
                    default -> throw new IllegalArgumentException(text);
                };
            }
            return parsed;
        }

        private static Rule rule(String name, boolean isOn) {
            int dot = name.indexOf('.');
            Optional<EngineKind> kind = kind(name.substring(dot + 1));
            if (dot < 0 && kind.isPresent()) {
                return new Rule(Optional.empty(), kind, isOn);
            }
            if (dot >= 0 && kind.isEmpty()) {
                throw new IllegalArgumentException(name);
            }
            Backend backend = new Backend(dot < 0 ? name : name.substring(0, dot));
            if (!Backend.OWN.contains(backend)
                    && !NearestName.hint(
                                    backend.path(),
                                    Backend.OWN.stream().map(Backend::path).toList())
                            .isEmpty()) {
                throw new IllegalArgumentException(name);
            }
            return new Rule(Optional.of(backend), kind, isOn);
        }

        private static Optional<EngineKind> kind(String name) {
            return Arrays.stream(EngineKind.values())
                    .filter(kind -> kind.name().toLowerCase(Locale.ROOT).equals(name))
                    .findFirst();
        }

        private static boolean isOn(String text) {
            return switch (text) {
                case "on", "true", "1" -> true;
                case "off", "false", "0" -> false;
                default -> throw new IllegalArgumentException(text);
            };
        }

        /** Returns true if engines of this backend and kind, or without a kind, are enabled. */
        public boolean contains(Backend backend, Optional<EngineKind> kind) {
            return rules.reversed().stream()
                    .filter(rule -> rule.applies(backend, kind))
                    .findFirst()
                    .map(Rule::isEnabled)
                    .orElse(true);
        }

        /** Returns true if {@code engine} is enabled. */
        public boolean contains(Engine<?, ?> engine) {
            // usually all are enabled, and the engine need not be identified
            return rules.isEmpty()
                    || contains(
                            engine.target().backend(),
                            engine instanceof KernelEngine kernels
                                    ? Optional.of(kernels.kind())
                                    : Optional.empty());
        }

        /** Returns these engines with a further rule. */
        public EnabledEngines with(Rule rule) {
            return new EnabledEngines(Stream.concat(
                            rules.stream()
                                    .filter(old -> !old.backend.equals(rule.backend)
                                            || !old.kind.equals(rule.kind)),
                            Stream.of(rule))
                    .toList());
        }
    }
}
