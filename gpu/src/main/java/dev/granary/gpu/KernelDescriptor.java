package dev.granary.gpu;

import dev.granary.cache.Id;
import dev.granary.cache.PrimitiveDescriptor;
import dev.granary.cache.Target;
import dev.granary.gpu.device.DriverTraits;
import dev.granary.gpu.source.SourceText;

import org.jspecify.annotations.Nullable;

import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Optional;
import java.util.SortedSet;
import java.util.TreeMap;
import java.util.TreeSet;

/**
 * Descriptor of a program of kernels: all inputs that decide what it compiles to. They are sources
 * with the content of their headers or a module of SPIR-V, options, entry points, announced
 * launches, an extra digest, a user tag and the target. Environment variables that affect the
 * driver's compiler are inputs as well. Immutable; compared by value, with a cached hash code.
 *
 * <p>Line endings are normalized to {@code \n}, and the last source ends with exactly one. Of file
 * names, only the paths of headers relative to the source enter the key. Entry points do not: they
 * are requirements on the program, and every choice of them compiles to the same binary.
 *
 * <p>An input that the key cannot cover makes the descriptor not cacheable: {@link #getId()} is
 * then empty and gives the reason. Such inputs are an {@code -I} directory, an include whose name a
 * macro makes, and a line that compilers read differently. So are an included file that the
 * compiler would find in the working directory, and the build time. {@link Builder#extraDigest}
 * makes such a descriptor cacheable.
 */
public final class KernelDescriptor implements PrimitiveDescriptor {
    private final String name;
    private final KernelInputs inputs;
    private final SortedSet<Launch> announcedLaunches;
    private final int hash;
    // computed at first use; a race computes it twice, with the same result
    private @Nullable Id id;

    private KernelDescriptor(Builder builder) {
        name = builder.name;
        SortedSet<String> entries =
                Collections.unmodifiableSortedSet(new TreeSet<>(builder.entries));
        announcedLaunches = Launch.named(builder.launches, entries);
        inputs = new KernelInputs(
                builder.target,
                builder.sources.isEmpty() ? List.of() : SourceText.ended(builder.sources),
                builder.spirv,
                Collections.unmodifiableNavigableMap(new TreeMap<>(builder.headers)),
                List.copyOf(builder.includeDirectories),
                BuildOptions.ordered(builder.options),
                entries,
                DriverTraits.compilesAtLaunch(builder.target)
                        ? announcedLaunches
                        : Collections.emptySortedSet(),
                builder.areFilesListed,
                builder.extraDigest,
                builder.tag,
                builder.environment
                        .map(chosen -> CompilerEnvironment.of(builder.target, chosen))
                        .orElseGet(() -> CompilerEnvironment.ofProcess(builder.target)));
        inputs.check(name);
        hash = inputs.hashCode();
    }

    /** Returns a new builder; {@code name} is for display only and does not enter the id. */
    public static Builder builder(Target target, String name) {
        return new Builder(target, name);
    }

    /** Builder of descriptors. Not thread-safe. */
    public static final class Builder {
        private final Target target;
        private final String name;
        private final List<String> sources = new ArrayList<>();
        private Optional<SpirvModule> spirv = Optional.empty();
        private final TreeMap<String, String> headers = new TreeMap<>();
        private final List<String> includeDirectories = new ArrayList<>();
        private final List<String> options = new ArrayList<>();
        private final TreeSet<String> entries = new TreeSet<>();
        private final TreeSet<Launch> launches = new TreeSet<>();
        private boolean areFilesListed;
        private String extraDigest = "";
        private String tag = "";
        // default: that of the process
        private Optional<Map<String, String>> environment = Optional.empty();

        private Builder(Target target, String name) {
            this.target = target;
            this.name = name;
        }

        /** Adds a source text. Several texts are compiled as one program, in order. */
        public Builder source(String text) {
            sources.add(SourceText.normalized(text));
            return this;
        }

        /**
         * Sets a module of SPIR-V, which is the program in place of sources. It is copied. A driver
         * of Level Zero takes it as it is, one of OpenCL if SPIR-V is one of its device's
         * intermediate languages. All options are then for the driver.
         *
         * @throws IllegalArgumentException if the bytes are no sound module, or it has no kernel
         */
        public Builder spirv(byte[] module) {
            spirv = Optional.of(SpirvModule.of(name, module));
            return this;
        }

        /**
         * Adds a header at a path relative to the source: {@code math.clh}, {@code sub/x.h},
         * {@code ../common/y.h}.
         *
         * @throws IllegalArgumentException if the path is empty or absolute
         */
        public Builder header(String path, String text) {
            headers.put(relativePath(path), SourceText.normalized(text));
            return this;
        }

        /**
         * Adds a directory in which headers are searched, as {@code -I} does; the path is relative
         * to the source. The source's own directory always comes first.
         *
         * @throws IllegalArgumentException if the path is empty or absolute
         */
        public Builder includeDirectory(String path) {
            includeDirectories.add(relativePath(path));
            return this;
        }

        /**
         * Adds build options as one string, as {@code clBuildProgram} takes them.
         *
         * @throws IllegalArgumentException if a quote is not closed, or an option is empty or lacks
         *     its value
         */
        public Builder options(String text) {
            return options(BuildOptions.parse(text));
        }

        /**
         * Adds build options as tokens. Quotes in a token are characters of it.
         *
         * @throws IllegalArgumentException if a token is empty or lacks its value
         */
        public Builder options(List<String> tokens) {
            options.addAll(BuildOptions.joinValues(tokens));
            return this;
        }

        /**
         * Adds kernels that must exist; none means all kernels of the program. They do not enter
         * the id.
         */
        public Builder entry(String... kernels) {
            entries.addAll(List.of(kernels));
            return this;
        }

        /**
         * Announces a launch of one kernel. The launch enters the id only if the driver compiles at
         * launch.
         */
        public Builder launch(String kernel, Geometry geometry) {
            launches.add(new Launch(kernel, geometry));
            return this;
        }

        /**
         * Announces a launch of every kernel with this geometry: of each {@link #entry} if there is
         * one, else of all kernels of the program.
         */
        public Builder launch(Geometry geometry) {
            return launch(Launch.EVERY_KERNEL, geometry);
        }

        /**
         * Declares that the headers include all files of the source's directory and of the include
         * directories. An include whose name a macro makes then cannot find another file, and no
         * longer prevents caching.
         */
        public Builder everyFileListed() {
            areFilesListed = true;
            return this;
        }

        /**
         * Sets a digest of inputs that the key cannot cover. It may have any form, and enters the
         * id.
         */
        public Builder extraDigest(String digest) {
            extraDigest = digest;
            return this;
        }

        /** Sets a text that enters the id, and separates ids that would otherwise be equal. */
        public Builder tag(String text) {
            tag = text;
            return this;
        }

        /**
         * Sets the environment variables from which those that affect the compiler enter the key;
         * default are those of this process. This yields the id of a process with these variables.
         * A driver reads the variables of its own process, so such a descriptor must not be
         * compiled here.
         */
        public Builder environment(Map<String, String> variables) {
            environment = Optional.of(variables);
            return this;
        }

        /**
         * Returns the descriptor.
         *
         * @throws IllegalArgumentException if there is no source and no SPIR-V, or if there are
         *     inputs of a preprocessor beside SPIR-V
         */
        public KernelDescriptor build() {
            return new KernelDescriptor(this);
        }

        private static String relativePath(String path) {
            if (path.isEmpty() || path.startsWith("/") || path.indexOf('\0') >= 0) {
                throw new IllegalArgumentException(
                        "The path of a header must be relative to the source, not '" + path + "'");
            }
            return path;
        }
    }

    @Override
    public Id getId() {
        Id cached = id;
        if (cached == null) {
            cached = KernelKey.id(this);
            id = cached;
        }
        return cached;
    }

    @Override
    public Target target() {
        return inputs.target();
    }

    @Override
    public String name() {
        return name;
    }

    /**
     * Returns the source texts in order, with {@code \n} as line ending; the last ends with one.
     * None beside SPIR-V.
     */
    public List<String> sources() {
        return inputs.sources();
    }

    /** Returns the module of SPIR-V, read-only, which then takes the place of the sources. */
    public Optional<MemorySegment> spirv() {
        return inputs.spirv().map(SpirvModule::bytes);
    }

    /** Returns the include directories searched after the source's own, relative to the source. */
    public List<String> includeDirectories() {
        return inputs.includeDirectories();
    }

    /** Returns the headers by their path relative to the source. */
    public NavigableMap<String, String> headers() {
        return inputs.headers();
    }

    /** Returns the options as one string, as drivers take them. */
    public String options() {
        return BuildOptions.forDriver(inputs.options());
    }

    /**
     * Returns the options as tokens, from which {@link Builder#options(List)} makes the same
     * options.
     */
    public List<String> optionTokens() {
        return inputs.options();
    }

    /** Returns the kernels that must exist; none means all. */
    public SortedSet<String> entries() {
        return inputs.entries();
    }

    /**
     * Returns the announced launches, also for a driver that does not compile at launch. A launch
     * of every kernel is one of each entry point if there are some.
     */
    public SortedSet<Launch> announcedLaunches() {
        return announcedLaunches;
    }

    /** Returns the announced launches; none if the driver does not compile at launch. */
    public SortedSet<Launch> launches() {
        return inputs.launches();
    }

    /** Returns true if {@link Builder#everyFileListed} was declared. */
    public boolean isEveryFileListed() {
        return inputs.areFilesListed();
    }

    /** Returns the digest of inputs that the key cannot cover; empty for none. */
    public String extraDigest() {
        return inputs.extraDigest();
    }

    /** Returns the text that separates ids on purpose; empty for none. */
    public String tag() {
        return inputs.tag();
    }

    /** Returns the environment variables that affect the compiler, part of the key, by name. */
    public NavigableMap<String, String> compilerVariables() {
        return inputs.environment().variables();
    }

    /**
     * Returns true if a compiler to an intermediate language certainly makes the same program of
     * the sources for every device; false if a token may depend on the device.
     */
    public boolean isPortable() {
        return SourcePortability.isPortable(this);
    }

    /** Returns all inputs. */
    KernelInputs inputs() {
        return inputs;
    }

    @Override
    public String readableKey() {
        return KernelKey.readable(this);
    }

    @Override
    public boolean equals(Object other) {
        return this == other
                || (other instanceof KernelDescriptor that
                        && hash == that.hash
                        && inputs.equals(that.inputs));
    }

    @Override
    public int hashCode() {
        return hash;
    }

    @Override
    public String toString() {
        return name + " for " + target().name();
    }
}
