package dev.granary.cli.kernel;

import dev.granary.cache.Backend;
import dev.granary.cache.Engine;
import dev.granary.cache.Target;
import dev.granary.cache.constant.EngineKind;
import dev.granary.cli.compiler.CompilerProcesses;
import dev.granary.cli.compiler.TemporaryDirectory;
import dev.granary.cli.option.CommandFailedException;
import dev.granary.cli.option.DeviceOption;
import dev.granary.cli.option.DeviceSelection;
import dev.granary.cli.option.OfflineTargetOption;
import dev.granary.cli.option.UsageException;
import dev.granary.coordinator.config.ConfigException;
import dev.granary.coordinator.config.GranaryConfig.EnabledEngines;
import dev.granary.gpu.Device;
import dev.granary.gpu.Geometry;
import dev.granary.gpu.KernelDescriptor;
import dev.granary.gpu.offline.OclocEngine;

import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.Set;

/**
 * The engines that {@code populate} compiles with, each of another target: those of selected
 * devices, and those of declared targets. Without any, the first device is selected.
 */
final class PopulateEngines implements AutoCloseable {
    private final List<Engine<KernelDescriptor, ?>> engines;
    private final TemporaryDirectory directory;

    private PopulateEngines(
            List<Engine<KernelDescriptor, ?>> engines, TemporaryDirectory directory) {
        this.engines = List.copyOf(engines);
        this.directory = directory;
    }

    /** The engines that the command line selects: its names are resolved, and nothing is opened. */
    static final class Selection {
        private final List<DeviceSelection> devices;
        private final Optional<OfflineTargetOption.Declared> declared;

        /**
         * Resolves the names on the command line.
         *
         * @throws UsageException if there is no such backend, or a declared target does not exist
         *     or has no compiler
         * @throws CommandFailedException if all devices are selected, and there is none
         */
        Selection(DeviceOption devices, OfflineTargetOption targets)
                throws UsageException, CommandFailedException {
            this.devices =
                    targets.isGiven() && !devices.isGiven() ? List.of() : devices.selections();
            this.declared = targets.isGiven() ? Optional.of(targets.declared()) : Optional.empty();
        }

        /**
         * Checks that nothing selected is disabled.
         *
         * @throws ConfigException if its entries would not be published
         */
        void requireEnabled(EnabledEngines enabled)
                throws ConfigException, CommandFailedException, UsageException {
            if (enabled.equals(EnabledEngines.ALL)) {
                return;
            }
            for (DeviceSelection selected : devices) {
                Device device = selected.one();
                requireEnabled(enabled, device.target().backend(), device.kind());
            }
            if (declared.isPresent()) {
                for (Target target : declared.get().targets()) {
                    requireEnabled(enabled, target.backend(), EngineKind.GPU);
                }
            }
        }

        private static void requireEnabled(EnabledEngines enabled, Backend backend, EngineKind kind)
                throws ConfigException {
            if (!enabled.contains(backend, Optional.of(kind))) {
                throw new ConfigException("The setting enabled (GRANARY_ENABLED) disables "
                        + backend.path() + "." + kind.name().toLowerCase(Locale.ROOT)
                        + ", so nothing would be published; enable it.");
            }
        }

        /**
         * Opens the engines. Devices of one target have one engine.
         *
         * @param geometries the geometries of all launches that are known
         * @param limit the longest time of one compile
         * @throws CommandFailedException if a device cannot be opened
         */
        PopulateEngines open(Collection<Geometry> geometries, Duration limit)
                throws CommandFailedException, UsageException, IOException, InterruptedException {
            List<Engine<KernelDescriptor, ?>> opened = new ArrayList<>();
            Set<Target> targets = new HashSet<>();
            // also deleted when a signal ends this process, after its compilers were killed
            TemporaryDirectory directory = new TemporaryDirectory("granary-offline-");
            try {
                for (DeviceSelection selected : devices) {
                    CompilerProcesses engine = CompilerProcesses.start(selected, geometries, limit);
                    if (targets.add(engine.target())) {
                        opened.add(engine);
                    } else {
                        engine.close();
                    }
                }
                declared.ifPresent(all -> all.targets().stream()
                        .filter(targets::add)
                        .forEach(target -> opened.add(new OclocEngine(
                                all.ocloc().within(directory.path()), target, limit))));
                return new PopulateEngines(opened, directory);
            } catch (CommandFailedException
                    | UsageException
                    | IOException
                    | InterruptedException
                    | RuntimeException e) {
                opened.forEach(Engine::close);
                directory.close();
                throw e;
            }
        }
    }

    /** Returns the engines, in the order of the command line; devices come first. */
    List<Engine<KernelDescriptor, ?>> all() {
        return engines;
    }

    @Override
    public void close() throws IOException {
        engines.forEach(Engine::close);
        directory.close();
    }
}
