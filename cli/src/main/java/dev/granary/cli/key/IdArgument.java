package dev.granary.cli.key;

import dev.granary.cache.EntryCatalog;
import dev.granary.cache.Id;
import dev.granary.cache.LoadResult;
import dev.granary.cache.format.EntryFormat;
import dev.granary.cli.manifest.KernelManifest;
import dev.granary.cli.manifest.KernelSpec;
import dev.granary.cli.option.CommandFailedException;
import dev.granary.cli.option.DeviceOption;
import dev.granary.cli.option.IdPrefixConverter;
import dev.granary.cli.option.UsageException;
import dev.granary.cli.place.Place;
import dev.granary.cli.source.KernelSourceResolver;
import dev.granary.coordinator.config.ConfigException;
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
import java.util.List;
import java.util.Optional;
import java.util.stream.Collectors;

/**
 * An argument that names an id in one of three forms: the first digits of the id of an entry, a
 * file with an entry or a key, or {@code MANIFEST#KERNEL}.
 *
 * @param tier opens the tier of entries that are named by digits
 * @param device the device whose target the kernels of a manifest are for
 */
public record IdArgument(TierOpener tier, DeviceOption device) {
    private static final String DIGITS = "[0-9a-fA-F]{1,64}";
    private static final char KERNEL_MARK = '#';

    /** Opener of a tier. */
    @FunctionalInterface
    public interface TierOpener {
        /** Opens the tier for inspection. */
        Place open() throws ConfigException, UsageException, CommandFailedException;
    }

    /**
     * Returns the id that an argument names.
     *
     * @throws UsageException if the argument has none of the forms, or names no kernel
     * @throws CommandFailedException if the id cannot be determined, or is empty
     */
    public Id resolve(String argument)
            throws UsageException, CommandFailedException, ConfigException, TomlException {
        Id id = resolveAny(argument);
        if (id.isEmpty()) {
            throw new CommandFailedException(
                    SafeText.of(argument.substring(kernelMark(argument) + 1))
                            + " is not cacheable, so it has no id: " + id.reason());
        }
        return id;
    }

    /** Returns true if an argument names a kernel of a manifest, for the selected device. */
    public static boolean isKernel(String argument) {
        return !argument.matches(DIGITS)
                && path(argument).filter(Files::exists).isEmpty()
                && kernelMark(argument) > 0;
    }

    /**
     * Returns the id that an argument names; an empty one for a kernel that is not cacheable.
     *
     * @throws UsageException if the argument has none of the forms, or names no kernel
     * @throws CommandFailedException if the id cannot be determined
     */
    public Id resolveAny(String argument)
            throws UsageException, CommandFailedException, ConfigException, TomlException {
        if (argument.matches(DIGITS)) {
            return ofEntry(IdPrefixConverter.parse(argument));
        }
        Optional<Path> file = path(argument).filter(Files::exists);
        if (file.isPresent()) {
            return ofFile(file.get());
        }
        if (kernelMark(argument) > 0) {
            return kernel(argument).getId();
        }
        throw unknown(argument);
    }

    /**
     * Returns the kernel that an argument of the form {@code MANIFEST#KERNEL} names, for the
     * selected device.
     *
     * @throws UsageException if it names no kernel
     * @throws CommandFailedException if its files cannot be read
     */
    public KernelDescriptor kernel(String argument)
            throws UsageException, CommandFailedException, TomlException {
        int mark = kernelMark(argument);
        return kernel(
                path(argument.substring(0, mark)).orElseThrow(() -> unknown(argument)),
                argument.substring(mark + 1));
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

    private Id ofEntry(String prefix)
            throws ConfigException, UsageException, CommandFailedException {
        try (Place inventory = tier.open();
                Arena memory = Arena.ofConfined()) {
            EntryCatalog.Listed listed = EntryFinder.find(inventory, prefix);
            return switch (inventory.read(listed, memory)) {
                case LoadResult.Hit hit -> hit.entry().id();
                case LoadResult.Damaged damaged ->
                    throw new CommandFailedException(
                            "entry " + listed.hash() + " is damaged: " + damaged.detail());
                case LoadResult.Absent _ ->
                    throw new CommandFailedException(
                            "entry " + listed.hash() + " has just been removed");
                case LoadResult.Unavailable unavailable ->
                    throw new CommandFailedException(
                            "entry " + listed.hash() + " cannot be read: " + unavailable.cause());
            };
        } catch (IOException e) {
            throw new CommandFailedException("the entries cannot be listed: " + e.getMessage());
        }
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
