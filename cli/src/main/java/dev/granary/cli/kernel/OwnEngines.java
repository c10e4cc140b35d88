package dev.granary.cli.kernel;

import dev.granary.cache.Engine;
import dev.granary.cli.option.CommandFailedException;
import dev.granary.coordinator.config.ConfigException;
import dev.granary.gpu.KernelDescriptor;

import picocli.CommandLine.Option;

import java.lang.reflect.InvocationTargetException;
import java.net.MalformedURLException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** The options that name engines of programs, which compile in this process. */
final class OwnEngines {
    @Option(
            names = "--engine",
            paramLabel = "CLASS",
            description = "compile by an engine of your own: a class that implements Engine for"
                    + " KernelDescriptor, and has a public constructor without parameters; may be"
                    + " given several times")
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
    List<Engine<KernelDescriptor, ?>> open() throws ConfigException, CommandFailedException {
        List<URL> urls = new ArrayList<>();
        for (Path file : classPath) {
            if (!Files.exists(file)) {
                throw new ConfigException("--class-path: there is no " + file);
            }
            try {
                urls.add(file.toUri().toURL());
            } catch (MalformedURLException e) {
                throw new ConfigException("--class-path: " + file + " is not a file: " + e);
            }
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
            throws ConfigException, CommandFailedException {
        try {
            Class<?> type = Class.forName(name, true, loader);
            type.getMethod("create", KernelDescriptor.class);
            if (type.getConstructor().newInstance() instanceof Engine<?, ?> engine) {
                return (Engine<KernelDescriptor, ?>) engine;
            }
            throw new ConfigException(
                    "--engine " + name + " does not implement " + Engine.class.getName());
        } catch (ClassNotFoundException e) {
            throw new ConfigException(
                    "--engine " + name + ": there is no such class; give its jar by --class-path");
        } catch (InvocationTargetException e) {
            throw new CommandFailedException("the engine " + name
                    + " cannot be opened, nothing was compiled: " + e.getCause());
        } catch (ReflectiveOperationException e) {
            throw new ConfigException("--engine " + name + " is not public, has no public"
                    + " constructor without parameters, or does not take KernelDescriptor: " + e);
        }
    }
}
