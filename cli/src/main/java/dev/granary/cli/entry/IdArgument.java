package dev.granary.cli.entry;

import dev.granary.cache.Entry;
import dev.granary.cache.EntryCatalog.Listed;
import dev.granary.cache.Id;
import dev.granary.cache.LoadResult;
import dev.granary.cache.LoadResult.DamageKind;
import dev.granary.cache.format.EntryFormat;
import dev.granary.cache.format.EntryFormat.VerificationLevel;
import dev.granary.cli.manifest.KernelManifest;
import dev.granary.cli.manifest.KernelSourceResolver;
import dev.granary.cli.manifest.KernelSpec;
import dev.granary.cli.option.CommandFailedException;
import dev.granary.cli.option.DeviceOption;
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
record IdArgument(GranaryConfig config, DeviceOption device) {
    private static final String DIGITS = "[0-9a-fA-F]{1,64}";
    private static final char KERNEL_MARK = '#';

    /**
     * The id that an argument names.
     *
     * @param id the id; an empty one for a kernel that is not cacheable
     * @param entry the entry if it was named by digits or its file
     * @param kernel the kernel if it was named by a manifest, for the selected device
     */
    record Named(Id id, Optional<Entry> entry, boolean isFile, Optional<KernelDescriptor> kernel) {}

    Named resolve(String argument, Arena memory)
            throws ConfigException, TomlException, IOException {
        if (argument.matches(DIGITS)) {
            Entry entry = find(argument.toLowerCase(Locale.ROOT), memory);
            return new Named(entry.id(), Optional.of(entry), false, Optional.empty());
        }
        try {
            if (Files.exists(Path.of(argument))) {
                return ofFile(Path.of(argument), memory);
            }
            int mark = kernelMark(argument);
            if (mark > 0) {
                KernelDescriptor kernel =
                        kernel(Path.of(argument.substring(0, mark)), argument.substring(mark + 1));
                return new Named(kernel.getId(), Optional.empty(), false, Optional.of(kernel));
            }
        } catch (InvalidPathException e) {
            // none of the forms
        }
        throw new ConfigException("'" + SafeText.of(argument)
                + "' is neither the first digits of an id, nor a file with an entry, nor"
                + " MANIFEST#KERNEL");
    }

    /** Returns the index of the first mark after the name of a file, else of the first mark. */
    private static int kernelMark(String argument) {
        int first = argument.indexOf(KERNEL_MARK);
        for (int mark = first; mark >= 0; mark = argument.indexOf(KERNEL_MARK, mark + 1)) {
            if (Files.isRegularFile(Path.of(argument.substring(0, mark)))) {
                return mark;
            }
        }
        return first;
    }

    /** Returns the entry of the first tier that has one whose id begins so. */
    private Entry find(String prefix, Arena memory) throws ConfigException, IOException {
        List<String> searched = new ArrayList<>();
        for (Place.Opener tier : Place.tiers(config)) {
            try (Place place = tier.open()) {
                List<Listed> found = Place.entries(place.catalog).stream()
                        .filter(entry -> entry.hash().hex().startsWith(prefix))
                        .toList();
                if (found.size() > 1) {
                    throw new CommandFailedException(found.size()
                            + " entries have ids that begin with " + prefix + "; give more digits");
                }
                if (!found.isEmpty()) {
                    Listed listed = found.getFirst();
                    return sound("entry " + listed.hash(), place.catalog.read(listed, memory));
                }
                searched.add(place.name);
            }
        }
        throw new CommandFailedException(
                searched.isEmpty()
                        ? "there is no " + config.directory()
                        : "no entry of " + String.join(", ", searched)
                                + " has an id that begins with " + prefix);
    }

    private static Entry sound(String name, LoadResult read) {
        return switch (read) {
            case LoadResult.Hit hit -> hit.entry();
            case LoadResult.Damaged(DamageKind damage, String detail)
            when Place.isOtherVersion(damage) ->
                throw new CommandFailedException(name + " is of another version (" + damage + ": "
                        + detail + "); this version does not use it, and replaces it only when it"
                        + " stores this id");
            case LoadResult.Damaged(DamageKind damage, String detail) ->
                throw new CommandFailedException(name + " is damaged (" + damage + ": " + detail
                        + "); it is never used, and the next store of this id replaces it");
            case LoadResult.Absent _ ->
                throw new CommandFailedException(name + " has just been removed");
            case LoadResult.Unavailable unavailable ->
                throw new CommandFailedException(name + " cannot be read: " + unavailable.cause());
        };
    }

    private static Named ofFile(Path file, Arena memory) {
        if (!Files.isRegularFile(file)) { // opening a pipe blocks until a writer opens it
            throw new CommandFailedException(file + " is not a file with an entry");
        }
        try (FileChannel channel = FileChannel.open(file)) {
            MemorySegment stored =
                    channel.map(FileChannel.MapMode.READ_ONLY, 0, channel.size(), memory);
            Optional<Id> key = stored.byteSize() > Id.MAX_BYTES
                    ? Optional.empty()
                    : Id.parse(stored.toArray(ValueLayout.JAVA_BYTE));
            if (key.isPresent()) {
                return new Named(key.get(), Optional.empty(), true, Optional.empty());
            }
            LoadResult read = EntryFormat.decode(stored, VerificationLevel.CONTENT_HASH);
            if (stored.byteSize() == 0
                    || (read instanceof LoadResult.Damaged(DamageKind damage, String _)
                            && damage == DamageKind.FOREIGN)) {
                throw new CommandFailedException(file + " is neither an entry nor the key of one;"
                        + " a kernel of a manifest is MANIFEST#KERNEL");
            }
            Entry entry = sound(file.toString(), read);
            return new Named(entry.id(), Optional.of(entry), true, Optional.empty());
        } catch (IOException e) {
            throw new CommandFailedException(file + " cannot be read: " + e);
        }
    }

    private KernelDescriptor kernel(Path manifest, String name)
            throws TomlException, ConfigException {
        List<KernelSpec> kernels = KernelManifest.read(manifest);
        KernelSpec kernel = kernels.stream()
                .filter(one -> one.name().equals(name))
                .findFirst()
                .orElseThrow(() -> new ConfigException(manifest + " has no kernel '"
                        + SafeText.of(name) + "'; its kernels are: "
                        + kernels.stream()
                                .map(one -> SafeText.of(one.name()))
                                .collect(Collectors.joining(", "))));
        try {
            return KernelSourceResolver.descriptor(
                    kernel, device.selection().one().target());
        } catch (IOException e) {
            throw new CommandFailedException(SafeText.of(name) + ": " + e.getMessage());
        }
    }
}
