package dev.granary.gpu;

import dev.granary.cache.Id;
import dev.granary.cache.PrimitiveDescriptor;
import dev.granary.cache.Target;

import org.jspecify.annotations.Nullable;

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
 * Descriptor of a program of kernels: all inputs that decide what it compiles to. They are sources,
 * headers with their content, options, entry points, announced launches, an extra digest, a user
 * tag and the target. Environment variables that affect the driver's compiler are inputs as well.
 * Immutable; compared by value, with a cached hash code.
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
    private final Target target;
    private final List<String> sources;
    private final NavigableMap<String, String> headers;
    private final List<String> includeDirectories;
    private final List<String> options;
    private final SortedSet<String> entries;
    private final SortedSet<Launch> announcedLaunches;
    private final SortedSet<Launch> launches;
    private final boolean areFilesListed;
    private final String extraDigest;
    private final String tag;
    private final CompilerEnvironment environment;
    private final int hash;
    // computed at first use; a race computes it twice, with the same result
    private @Nullable Id id;

    private KernelDescriptor(Builder builder) {
        name = builder.name;
        target = builder.target;
        sources = SourceText.ended(builder.sources);
        headers = Collections.unmodifiableNavigableMap(new TreeMap<>(builder.headers));
        includeDirectories = List.copyOf(builder.includeDirectories);
        options = BuildOptions.ordered(builder.options);
        entries = Collections.unmodifiableSortedSet(new TreeSet<>(builder.entries));
        announcedLaunches =
                Collections.unmodifiableSortedSet(launchesOf(builder.launches, entries));
        launches = DriverTraits.of(target).compilesAtLaunch()
                ? announcedLaunches
                : Collections.emptySortedSet();
        areFilesListed = builder.areFilesListed;
        extraDigest = builder.extraDigest;
        tag = builder.tag;
        environment = builder.environment
                .map(chosen -> CompilerEnvironment.of(target, chosen))
                .orElseGet(() -> CompilerEnvironment.ofProcess(target));
        hash = List.of(
                        target,
                        sources,
                        headers,
                        includeDirectories,
                        options,
                        entries,
                        launches,
                        areFilesListed,
                        extraDigest,
                        tag,
                        environment)
                .hashCode();
    }

    /** Returns the launches, with those of every kernel as one launch for each entry point. */
    private static SortedSet<Launch> launchesOf(
            SortedSet<Launch> announced, SortedSet<String> entries) {
        TreeSet<Launch> named = new TreeSet<>();
        for (Launch launch : announced) {
            if (launch.kernel().equals(Launch.EVERY_KERNEL) && !entries.isEmpty()) {
                entries.forEach(entry -> named.add(new Launch(entry, launch.geometry())));
            } else {
                named.add(launch);
            }
        }
        return named;
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
         * Replaces the environment variables of this process, for the id that a process with these
         * variables has. A driver reads its own process's: do not compile such a descriptor.
         */
        public Builder environment(Map<String, String> variables) {
            environment = Optional.of(variables);
            return this;
        }

        /**
         * Returns the descriptor.
         *
         * @throws IllegalArgumentException if there is no source
         */
        public KernelDescriptor build() {
            if (sources.stream().allMatch(String::isBlank)) {
                throw new IllegalArgumentException("The kernel " + name + " has no source");
            }
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
        return target;
    }

    @Override
    public String name() {
        return name;
    }

    /**
     * Returns the source texts in order, with {@code \n} as line ending; the last ends with one.
     */
    public List<String> sources() {
        return sources;
    }

    /** Returns the include directories searched after the source's own, relative to the source. */
    public List<String> includeDirectories() {
        return includeDirectories;
    }

    /** Returns the headers by their path relative to the source. */
    public NavigableMap<String, String> headers() {
        return headers;
    }

    /** Returns the options as one string, as drivers take them. */
    public String options() {
        return BuildOptions.forDriver(options);
    }

    /**
     * Returns the options as tokens, from which {@link Builder#options(List)} makes the same
     * options.
     */
    public List<String> optionTokens() {
        return options;
    }

    /** Returns the kernels that must exist; none means all. */
    public SortedSet<String> entries() {
        return entries;
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
        return launches;
    }

    /** Returns true if {@link Builder#everyFileListed} was declared. */
    public boolean isEveryFileListed() {
        return areFilesListed;
    }

    /** Returns the digest of inputs that the key cannot cover; empty for none. */
    public String extraDigest() {
        return extraDigest;
    }

    /** Returns the text that separates ids on purpose; empty for none. */
    public String tag() {
        return tag;
    }

    /** Returns the environment variables that affect the compiler, part of the key, by name. */
    public NavigableMap<String, String> compilerVariables() {
        return environment.variables();
    }

    /**
     * Returns true if a compiler to an intermediate language certainly makes the same program of
     * the sources for every device; false if a token may depend on the device.
     */
    public boolean isPortable() {
        return SourcePortability.isPortable(this);
    }

    /** Returns the environment that affects the compiler. */
    CompilerEnvironment environment() {
        return environment;
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
                        && target.equals(that.target)
                        && sources.equals(that.sources)
                        && headers.equals(that.headers)
                        && includeDirectories.equals(that.includeDirectories)
                        && options.equals(that.options)
                        && entries.equals(that.entries)
                        && launches.equals(that.launches)
                        && areFilesListed == that.areFilesListed
                        && extraDigest.equals(that.extraDigest)
                        && tag.equals(that.tag)
                        && environment.equals(that.environment));
    }

    @Override
    public int hashCode() {
        return hash;
    }

    @Override
    public String toString() {
        return name + " for " + target.name();
    }
}
