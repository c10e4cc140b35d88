package dev.granary.cli.kernel;

import dev.granary.cache.Backend;
import dev.granary.cache.Engine;
import dev.granary.cache.Target;
import dev.granary.cache.constant.EngineKind;
import dev.granary.cli.option.CommandFailedException;
import dev.granary.cli.option.DeviceOption;
import dev.granary.cli.option.DeviceSelection;
import dev.granary.coordinator.config.ConfigException;
import dev.granary.coordinator.config.GranaryConfig.EnabledEngines;
import dev.granary.gpu.Device;
import dev.granary.gpu.Geometry;
import dev.granary.gpu.KernelDescriptor;
import dev.granary.gpu.offline.Ocloc;
import dev.granary.gpu.offline.OclocEngine;

import picocli.CommandLine.Option;

import java.lang.reflect.InvocationTargetException;
import java.net.MalformedURLException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/**
 * The engines that {@code populate} compiles with, each of another target: those of selected
 * devices, of declared targets, and of programs. Without any, the first device is selected.
 */
final class PopulateEngines implements AutoCloseable {
    /** The longest time until a driver has opened its device. */
    private static final Duration OPEN_LIMIT = Duration.ofMinutes(5);

    private final List<DeviceSelection> devices;
    private final Optional<Ocloc> ocloc; // if targets are declared
    private final OwnEngines own;
    private final Set<Target> declared = new LinkedHashSet<>();
    private final List<Engine<KernelDescriptor, ?>> engines = new ArrayList<>();

    /** Resolves the names on the command line; no device is opened. */
    PopulateEngines(DeviceOption devices, List<String> targets, OwnEngines own)
            throws ConfigException {
        boolean isOffline = !targets.isEmpty();
        boolean isDeviceMeant = devices.isGiven() || !(isOffline || own.isGiven());
        this.devices = isDeviceMeant ? devices.selections() : List.of();
        this.ocloc = isOffline ? Optional.of(compiler()) : Optional.empty();
        this.own = own;
        for (String name : targets) {
            try {
                declared.addAll(ocloc.orElseThrow().targets(name));
            } catch (IllegalArgumentException e) {
                throw new ConfigException("--target " + name + ": " + e.getMessage());
            }
        }
    }

    private static Ocloc compiler() throws ConfigException {
        return switch (Ocloc.probe()) {
            case Ocloc.Probe.Found found -> found.ocloc();
            case Ocloc.Probe.Missing missing ->
                throw new ConfigException("--target needs a compiler: " + missing.cause());
        };
    }

    /** Checks that nothing selected is disabled. */
    void requireEnabled(EnabledEngines enabled) throws ConfigException {
        if (enabled.equals(EnabledEngines.ALL)) {
            return;
        }
        for (DeviceSelection selected : devices) {
            Device device = selected.one();
            requireEnabled(enabled, device.target().backend(), device.kind());
        }
        for (Target target : declared) {
            requireEnabled(enabled, target.backend(), EngineKind.GPU);
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
     * @param variables environment variables of the compilers' processes
     * @return these engines, which are closed if one cannot be opened
     */
    PopulateEngines open(
            Collection<Geometry> geometries,
            Duration limit,
            Path directory,
            Map<String, String> variables)
            throws Exception {
        Set<Target> targets = new HashSet<>();
        try {
            for (DeviceSelection selected : devices) {
                CompilerProcesses engine = new CompilerProcesses(
                        selected, geometries, OPEN_LIMIT, limit, directory, variables);
                if (targets.add(engine.target())) {
                    engines.add(engine);
                } else {
                    engine.close();
                }
            }
            ocloc.ifPresent(compiler -> declared.stream()
                    .filter(targets::add)
                    .forEach(target -> engines.add(
                            new OclocEngine(compiler.within(directory), target, limit))));
            engines.addAll(own.open());
            return this;
        } catch (Exception e) {
            close();
            throw e;
        }
    }

    /** Returns the open engines, in the order of the command line; devices come first. */
    List<Engine<KernelDescriptor, ?>> all() {
        return List.copyOf(engines);
    }

    @Override
    public void close() {
        engines.forEach(Engine::close);
    }

    /** The options that name engines of programs, which compile in this process. */
    static final class OwnEngines {
        @Option(
                names = "--engine",
                paramLabel = "CLASS",
                description = "compile by an engine of your own: a class that implements Engine for"
                        + " KernelDescriptor, and has a public constructor without parameters; may"
                        + " be given several times")
        private List<String> names = List.of();

        @Option(
                names = "--class-path",
                paramLabel = "FILE",
                split = ":",
                description = "the jars and directories of these classes, with colons between them")
        private List<Path> classPath = List.of();

        boolean isGiven() {
            return !names.isEmpty();
        }

        /** Creates the engines. Their classes stay loaded. */
        List<Engine<KernelDescriptor, ?>> open() throws ConfigException, MalformedURLException {
            List<URL> urls = new ArrayList<>();
            for (Path file : classPath) {
                if (!Files.exists(file)) {
                    throw new ConfigException("--class-path: there is no " + file);
                }
                urls.add(file.toUri().toURL());
            }
            ClassLoader loader =
                    new URLClassLoader(urls.toArray(URL[]::new), OwnEngines.class.getClassLoader());
            List<Engine<KernelDescriptor, ?>> engines = new ArrayList<>();
            for (String name : names) {
                engines.add(open(name, loader));
            }
            return engines;
        }

        @SuppressWarnings("unchecked") // it has a method for these descriptors
        private static Engine<KernelDescriptor, ?> open(String name, ClassLoader loader)
                throws ConfigException {
            try {
                Class<?> type = Class.forName(name, true, loader);
                type.getMethod("create", KernelDescriptor.class);
                if (type.getConstructor().newInstance() instanceof Engine<?, ?> engine) {
                    return (Engine<KernelDescriptor, ?>) engine;
                }
                throw new ConfigException(
                        "--engine " + name + " does not implement " + Engine.class.getName());
            } catch (ClassNotFoundException e) {
                throw new ConfigException("--engine " + name
                        + ": there is no such class; give its jar by --class-path");
            } catch (InvocationTargetException e) {
                throw new CommandFailedException("the engine " + name
                        + " cannot be opened, nothing was compiled: " + e.getCause());
            } catch (ReflectiveOperationException e) {
                throw new ConfigException("--engine " + name + " is not public, has no public"
                        + " constructor without parameters, or does not take KernelDescriptor: "
                        + e);
            }
        }
    }
}
