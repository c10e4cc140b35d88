package dev.granary.cli.key;

import dev.granary.cache.Entry;
import dev.granary.cache.EntryCatalog;
import dev.granary.cache.Id;
import dev.granary.cache.LoadResult;
import dev.granary.cache.format.EntryFormat;
import dev.granary.cli.manifest.KernelManifest;
import dev.granary.cli.manifest.KernelSpec;
import dev.granary.cli.option.CommandFailedException;
import dev.granary.cli.option.DeviceOption;
import dev.granary.cli.option.UsageException;
import dev.granary.cli.output.BoundedEntryList;
import dev.granary.cli.place.Place;
import dev.granary.cli.place.Places;
import dev.granary.cli.source.KernelSourceResolver;
import dev.granary.coordinator.config.BucketConfig;
import dev.granary.coordinator.config.ConfigException;
import dev.granary.coordinator.config.GranaryConfig;
import dev.granary.coordinator.toml.SafeText;
import dev.granary.coordinator.toml.TomlException;
import dev.granary.gpu.KernelDescriptor;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.stream.Collectors;

/**
 * An argument that names an id in one of three forms: the first digits of the id of an entry, a
 * file with an entry or a key, or {@code MANIFEST#KERNEL}.
 *
 * @param config the configuration of the tiers with entries that are named by digits
 * @param device the device whose target the kernels of a manifest are for
 */
public record IdArgument(GranaryConfig config, DeviceOption device) {
    private static final String DIGITS = "[0-9a-fA-F]{1,64}";
    private static final char KERNEL_MARK = '#';

    /**
     * The id that an argument names.
     *
     * @param id the id; an empty one for a kernel that is not cacheable
     * @param entry the entry if it was named by digits
     * @param kernel the kernel if it was named by a manifest, for the selected device
     */
    public record Named(Id id, Optional<Entry> entry, Optional<KernelDescriptor> kernel) {}

    /**
     * Returns the id that an argument names.
     *
     * @param memory holds the entry
     * @throws UsageException if the argument has none of the forms, or names no kernel
     * @throws CommandFailedException if the id cannot be determined
     * @throws IOException if the entries cannot be listed
     */
    public Named resolve(String argument, Arena memory)
            throws UsageException, CommandFailedException, ConfigException, TomlException,
                    IOException {
        if (argument.matches(DIGITS)) {
            Entry entry = find(argument.toLowerCase(Locale.ROOT), memory);
            return new Named(entry.id(), Optional.of(entry), Optional.empty());
        }
        Optional<Path> file = path(argument).filter(Files::exists);
        if (file.isPresent()) {
            return new Named(ofFile(file.get()), Optional.empty(), Optional.empty());
        }
        int mark = kernelMark(argument);
        if (mark > 0) {
            KernelDescriptor kernel = kernel(
                    path(argument.substring(0, mark)).orElseThrow(() -> unknown(argument)),
                    argument.substring(mark + 1));
            return new Named(kernel.getId(), Optional.empty(), Optional.of(kernel));
        }
        throw unknown(argument);
    }

    private static UsageException unknown(String argument) {
        return new UsageException("'" + SafeText.of(argument)
                + "' is neither the first digits of an id, nor a file with an entry, nor"
                + " MANIFEST#KERNEL");
    }

    private static Optional<Path> path(String text) {
        try {
            return Optional.of(Path.of(text));
        } catch (InvalidPathException e) {
            return Optional.empty();
        }
    }

    /** Returns the index of the first mark after the name of a file, else of the first mark. */
    private static int kernelMark(String argument) {
        int first = argument.indexOf(KERNEL_MARK);
        for (int mark = first; mark >= 0; mark = argument.indexOf(KERNEL_MARK, mark + 1)) {
            if (path(argument.substring(0, mark)).filter(Files::isRegularFile).isPresent()) {
                return mark;
            }
        }
        return first;
    }

    /** Returns the entry of the first tier that has one whose id begins so. */
    private Entry find(String prefix, Arena memory)
            throws ConfigException, CommandFailedException, IOException {
        List<String> searched = new ArrayList<>();
        if (Files.exists(config.directory())) {
            try (Place local = Places.local(config)) {
                Optional<Entry> found = find(local, prefix, memory);
                if (found.isPresent()) {
                    return found.get();
                }
                searched.add(local.name());
            }
        }
        for (BucketConfig layer : config.buckets()) {
            try (Place bucket = Places.of(layer)) {
                Optional<Entry> found = find(bucket, prefix, memory);
                if (found.isPresent()) {
                    return found.get();
                }
                searched.add(bucket.name());
            }
        }
        throw new CommandFailedException(
                searched.isEmpty()
                        ? "there is no " + config.directory()
                        : "no entry of " + String.join(", ", searched)
                                + " has an id that begins with " + prefix);
    }

    private static Optional<Entry> find(Place inventory, String prefix, Arena memory)
            throws CommandFailedException, IOException {
        BoundedEntryList found =
                new BoundedEntryList(Comparator.comparing(entry -> entry.hash().hex()), 1);
        inventory.list(entry -> {
            if (entry.hash().hex().startsWith(prefix)) {
                found.accept(entry);
            }
        });
        if (found.entries() > 1) {
            throw new CommandFailedException(found.entries() + " entries have ids that begin with "
                    + prefix + "; give more digits");
        }
        if (found.entries() == 0) {
            return Optional.empty();
        }
        EntryCatalog.Listed listed = found.sorted().getFirst();
        return switch (inventory.read(listed, memory)) {
            case LoadResult.Hit hit -> Optional.of(hit.entry());
            case LoadResult.Damaged damaged -> {
                boolean isOther = Place.isOtherVersion(damaged.damage());
                throw new CommandFailedException("entry " + listed.hash()
                        + (isOther ? " is of another version (" : " is damaged (")
                        + damaged.damage() + ": " + damaged.detail()
                        + (isOther
                                ? "); this version does not use it, and replaces it only when it"
                                        + " stores this id"
                                : "); it is never used, and the next store of this id replaces"
                                        + " it"));
            }
            case LoadResult.Absent _ ->
                throw new CommandFailedException(
                        "entry " + listed.hash() + " has just been removed");
            case LoadResult.Unavailable unavailable ->
                throw new CommandFailedException(
                        "entry " + listed.hash() + " cannot be read: " + unavailable.cause());
        };
    }

    private static Id ofFile(Path file) throws CommandFailedException {
        if (!Files.isRegularFile(file)) { // opening a pipe blocks until a writer opens it
            throw new CommandFailedException(file + " is not a file with an entry");
        }
        try (FileChannel channel = FileChannel.open(file);
                Arena memory = Arena.ofConfined()) {
            MemorySegment stored =
                    channel.map(FileChannel.MapMode.READ_ONLY, 0, channel.size(), memory);
            return EntryFormat.readId(stored)
                    .or(() -> stored.byteSize() > Id.MAX_BYTES
                            ? Optional.empty()
                            : Id.parse(stored.toArray(ValueLayout.JAVA_BYTE)))
                    .orElseThrow(() -> new CommandFailedException(
                            file + " is neither an entry nor the key of one; a kernel of a"
                                    + " manifest is MANIFEST#KERNEL"));
        } catch (IOException e) {
            throw new CommandFailedException(file + " cannot be read: " + e);
        }
    }

    private KernelDescriptor kernel(Path manifest, String name)
            throws TomlException, UsageException, CommandFailedException {
        List<KernelSpec> kernels = KernelManifest.read(manifest);
        KernelSpec kernel = kernels.stream()
                .filter(one -> one.name().equals(name))
                .findFirst()
                .orElseThrow(() -> new UsageException(manifest + " has no kernel '"
                        + SafeText.of(name) + "'; its kernels are: "
                        + kernels.stream()
                                .map(one -> SafeText.of(one.name()))
                                .collect(Collectors.joining(", "))));
        try {
            return KernelSourceResolver.descriptor(kernel, device.device().target());
        } catch (IOException e) {
            throw new CommandFailedException(SafeText.of(name) + ": " + e.getMessage());
        }
    }
}
