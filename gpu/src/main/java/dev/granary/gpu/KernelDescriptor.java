package dev.granary.gpu;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.granary.cache.Id;
import dev.granary.cache.PrimitiveDescriptor;
import dev.granary.cache.Sha256;
import dev.granary.cache.Target;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Optional;
import java.util.SortedSet;
import java.util.TreeMap;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/**
 * Everything that decides what a program of kernels compiles to: sources, headers with their content, options, entry points, announced
 * launches, an extra digest, a user tag, the target, and those environment variables of this process that change what its driver compiles.
 * Immutable; compared by these, its hash computed once.
 *
 * <p>Line endings count as {@code \n}. Of files only the places of headers relative to the source enter. What the key cannot
 * see makes the descriptor not cacheable (its {@link #getId()} is empty and says why) unless {@link Builder#extraDigest} vouches for it: an
 * {@code -I} directory, an include whose name a macro makes, a line that compilers read in different ways, an included file that the compiler
 * would find in the working directory, the time of the build.
 */
public final class KernelDescriptor implements PrimitiveDescriptor {
    private static final int READABLE_HEADERS = 4;

    /** Stands in keys for {@link Builder#everyFileListed}; fixed for ever. */
    private static final String EVERY_FILE = "every file of the include directories is a header";

    private final String name;
    private final Target target;
    private final List<String> sources;
    private final NavigableMap<String, String> headers;
    private final List<String> includeDirectories;
    private final List<String> options;
    private final SortedSet<String> entries;
    private final SortedSet<Launch> launches;
    private final boolean areFilesListed;
    private final String extraDigest;
    private final String tag;
    private final CompilerEnvironment environment;
    private final int hash;
    private @Nullable Id id; // computed at first use; a race computes it twice, to the same value

    private KernelDescriptor(Builder from) {
        name = from.name;
        target = from.target;
        sources = List.copyOf(from.sources);
        headers = Collections.unmodifiableNavigableMap(new TreeMap<>(from.headers));
        includeDirectories = List.copyOf(from.includeDirectories);
        options = List.copyOf(from.options);
        entries = Collections.unmodifiableSortedSet(new TreeSet<>(from.entries));
        launches = Collections.unmodifiableSortedSet(
                DriverTraits.of(target).compilesAtLaunch() ? new TreeSet<>(from.launches) : new TreeSet<>());
        areFilesListed = from.areFilesListed;
        extraDigest = from.extraDigest;
        tag = from.tag;
        environment = from.environment.map(chosen -> CompilerEnvironment.of(target, chosen)).orElseGet(() -> CompilerEnvironment.ofProcess(target));
        hash = List.of(target, sources, headers, includeDirectories, options, entries, launches, areFilesListed, extraDigest, tag, environment)
                .hashCode();
    }

    /** Starts a descriptor; {@code name} is for people and does not enter the id. */
    public static Builder builder(Target target, String name) {
        return new Builder(target, name);
    }

    /** Collects what is compiled. Not thread-safe. */
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
        private Optional<Map<String, String>> environment = Optional.empty(); // that of the process

        private Builder(Target target, String name) {
            this.target = target;
            this.name = name;
        }

        /** Adds a source text. Several are compiled as one program, in order. */
        public Builder source(String text) {
            sources.add(normalized(text));
            return this;
        }

        /**
         * Adds a header at its place relative to the source: {@code math.clh}, {@code sub/x.h}, {@code ../common/y.h}.
         *
         * @throws IllegalArgumentException if the place is empty or absolute
         */
        public Builder header(String place, String text) {
            headers.put(relative(place), normalized(text));
            return this;
        }

        /**
         * Lets headers be found in that directory as well, as {@code -I} does; its place is relative to the source. The source's own
         * directory always comes first.
         *
         * @throws IllegalArgumentException if the place is empty or absolute
         */
        public Builder includeDirectory(String place) {
            includeDirectories.add(relative(place));
            return this;
        }

        /**
         * Adds build options as one string, as {@code clBuildProgram} takes them.
         *
         * @throws IllegalArgumentException if a quote is not closed, or an option is empty or lacks its value
         */
        public Builder options(String text) {
            return options(BuildOptions.parse(text));
        }

        /**
         * Adds build options that are tokens already: what quotes a token has are characters of it.
         *
         * @throws IllegalArgumentException if one is empty or lacks its value
         */
        public Builder options(List<String> tokens) {
            options.addAll(BuildOptions.joinValues(tokens));
            return this;
        }

        /** Names kernels that must exist; none means all of the program. */
        public Builder entry(String... kernels) {
            entries.addAll(List.of(kernels));
            return this;
        }

        /** Announces a launch of one kernel. It enters the id only where the driver compiles at launch. */
        public Builder launch(String kernel, Geometry geometry) {
            launches.add(new Launch(kernel, geometry));
            return this;
        }

        /** Announces a launch of every kernel in this geometry. */
        public Builder launch(Geometry geometry) {
            return launch(Launch.EVERY_KERNEL, geometry);
        }

        /**
         * Tells that the headers hold all files of the source's directory and of the include directories. Then an include whose name a macro makes
         * can find nothing else, and the descriptor is cacheable in spite of it.
         */
        public Builder everyFileListed() {
            areFilesListed = true;
            return this;
        }

        /** Vouches for inputs that the key cannot see: their digest, in any form, enters the id. */
        public Builder extraDigest(String digest) {
            extraDigest = digest;
            return this;
        }

        /** Separates ids that would be equal otherwise: a text of the caller's that enters the id. */
        public Builder tag(String text) {
            tag = text;
            return this;
        }

        /** Takes these for the environment variables of the process, in tests. */
        Builder environment(Map<String, String> variables) {
            environment = Optional.of(variables);
            return this;
        }

        /**
         * The descriptor.
         *
         * @throws IllegalArgumentException if there is no source
         */
        public KernelDescriptor build() {
            if (sources.stream().allMatch(String::isBlank)) {
                throw new IllegalArgumentException("The kernel " + name + " has no source");
            }
            return new KernelDescriptor(this);
        }

        private static String relative(String place) {
            if (place.isEmpty() || place.startsWith("/") || place.indexOf('\0') >= 0) {
                throw new IllegalArgumentException("The place of a header must be relative to the source, not '" + place + "'");
            }
            return place;
        }
    }

    @Override
    public Id getId() {
        Id known = id;
        if (known == null) {
            known = makeId();
            id = known;
        }
        return known;
    }

    @Override
    public Target target() {
        return target;
    }

    @Override
    public String name() {
        return name;
    }

    /** The source texts, in order, with {@code \n} as line ending. */
    public List<String> sources() {
        return sources;
    }

    /** The directories that are searched after the source's own, relative to it. */
    public List<String> includeDirectories() {
        return includeDirectories;
    }

    /** The headers by their place relative to the source. */
    public NavigableMap<String, String> headers() {
        return headers;
    }

    /** The options as one string, in the spelling that drivers take. */
    public String options() {
        return BuildOptions.forDriver(options);
    }

    /** The kernels that must exist; none means all. */
    public SortedSet<String> entries() {
        return entries;
    }

    /** The announced launches; none where the driver does not compile at launch. */
    public SortedSet<Launch> launches() {
        return launches;
    }

    @Override
    public String readableKey() {
        int characters = sources.stream().mapToInt(String::length).sum();
        return name + ", " + characters + " characters of source"
                + (headers.isEmpty() ? "" : ", headers " + readableHeaders())
                + (options.isEmpty() ? "" : ", options " + BuildOptions.format(options))
                + (entries.isEmpty() ? "" : ", entries " + String.join(" ", entries))
                + (launches.isEmpty() ? "" : ", launches " + String.join(" ", launches.stream().map(Launch::toString).toList()))
                + (tag.isEmpty() ? "" : ", tag " + tag)
                + (environment.variables().isEmpty() ? "" : ", environment " + environment.variables());
    }

    private String readableHeaders() {
        String first = String.join(" ", headers.keySet().stream().limit(READABLE_HEADERS).toList());
        return headers.size() <= READABLE_HEADERS ? first : first + " and " + (headers.size() - READABLE_HEADERS) + " more";
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

    private Id makeId() {
        Optional<String> unseen =
                extraDigest.isEmpty() ? environment.unseen().or(this::unseenInputs) : Optional.empty();
        if (unseen.isPresent()) {
            return Id.notCacheable(unseen.get());
        }
        Id.Builder key = Id.builder(target).field("kind", "kernel-source");
        sources.forEach(text -> key.field("source", text));
        // Headers by digest: a program may include megabytes, and the key is stored in every entry.
        headers.forEach((place, text) -> key.field("header", place).field("sha256", Sha256.of(text.getBytes(UTF_8)).bytes()));
        includeDirectories.forEach(directory -> key.field("include-directory", directory));
        options.forEach(option -> key.field("option", option));
        entries.forEach(entry -> key.field("entry", entry));
        launches.forEach(launch -> key.field("launch", launch.toString()));
        if (!extraDigest.isEmpty() || areFilesListed) {
            key.field("extra-digest", extraDigest.isEmpty() ? EVERY_FILE : extraDigest);
        }
        if (!tag.isEmpty()) {
            key.field("tag", tag);
        }
        environment.variables().forEach((name, value) -> key.field("environment", name).field("value", value));
        return key.build();
    }

    private Optional<String> unseenInputs() {
        return new UntrackedInputs(Path.of("")).reason(sources, headers, options, areFilesListed);
    }

    static String normalized(String text) {
        return text.replace("\r\n", "\n").replace('\r', '\n');
    }
}
