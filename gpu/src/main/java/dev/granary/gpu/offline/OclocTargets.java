package dev.granary.gpu.offline;

import dev.granary.cache.Backend;
import dev.granary.cache.Target;
import dev.granary.gpu.device.IntelDevice;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.function.Predicate;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/**
 * Finder of the targets that a name means: a product family such as {@code tgllp}, a PCI device id
 * such as {@code 0x9a49}, or a target as {@code granary devices} prints it on the device. Before
 * the first two, {@code opencl/} or {@code level-zero/} selects one backend.
 *
 * @param version the version of the driver that the compiler belongs to
 * @param supported returns true if the compiler has code for a device
 */
record OclocTargets(DriverVersion version, Predicate<IntelDevice> supported) {
    /** The parts of {@link Target#path()} of a GPU of Intel, from which the target follows. */
    private static final Pattern PATH = Pattern.compile("(?<backend>[a-z-]+)/intel_gpu-id-"
            + "(?<id>0x[0-9a-f]{1,4})(?:-ip-0x(?<ip>[0-9a-f]{1,8}))?_(?<driver>[0-9.]+)_"
            + "[0-9a-f]+");

    /**
     * Returns the targets of a name, in the order of the device ids.
     *
     * @throws IllegalArgumentException if the name has no target that the compiler supports, with a
     *     message for the user
     */
    List<Target> of(String name) {
        Matcher path = PATH.matcher(name);
        if (path.matches()) {
            return List.of(ofPath(name, path));
        }
        int slash = name.indexOf('/');
        Optional<Backend> only =
                slash < 0 ? Optional.empty() : Backend.ownOf(name.substring(0, slash));
        if (slash >= 0 && only.isEmpty()) {
            throw unknown(name);
        }
        String device = name.substring(slash + 1);
        List<IntelDevice> named = IntelDevice.ofPciText(device)
                .map(List::of)
                .orElseGet(() -> IntelDevice.ofFamily(device));
        if (named.isEmpty()) {
            throw unknown(name);
        }
        List<IntelDevice> found = named.stream().filter(supported).toList();
        if (found.isEmpty()) {
            throw new IllegalArgumentException("ocloc of the driver " + version.text()
                    + " has no code for " + device + "; an ocloc of another version may");
        }
        List<Target> targets = new ArrayList<>();
        for (IntelDevice one : found) {
            for (Backend backend : Backend.OWN) {
                if (only.isEmpty() || only.get().equals(backend)) {
                    version.of(backend)
                            .ifPresent(driver -> targets.add(
                                    new Target(backend, IntelDevice.VENDOR, one.text(), driver)));
                }
            }
        }
        if (targets.isEmpty()) {
            throw new IllegalArgumentException("the targets of Level Zero do not follow from the"
                    + " driver " + version.text() + " of ocloc; give them as granary devices"
                    + " prints them on the device");
        }
        return targets;
    }

    /** Returns the target of a path. The digest in the path verifies the parts that were parsed. */
    private Target ofPath(String name, Matcher path) {
        String ip = path.group("ip");
        IntelDevice device = new IntelDevice(
                Integer.parseInt(path.group("id").substring(2), 16),
                ip == null
                        ? OptionalInt.empty()
                        : OptionalInt.of(Integer.parseUnsignedInt(ip, 16)));
        Backend backend = Backend.ownOf(path.group("backend")).orElseThrow(() -> unknown(name));
        String driver = path.group("driver");
        Target target = new Target(backend, IntelDevice.VENDOR, device.text(), driver);
        if (!target.path().equals(name)) {
            throw unknown(name);
        }
        if (!version.isDriver(backend, driver)) {
            throw new IllegalArgumentException("the target " + name + " is of the driver " + driver
                    + ", but ocloc of " + version.text() + ": install the ocloc of that driver");
        }
        if (!supported.test(device)) {
            throw new IllegalArgumentException("ocloc of the driver " + version.text()
                    + " has no code for " + device.pciText());
        }
        return target;
    }

    private static IllegalArgumentException unknown(String name) {
        return new IllegalArgumentException("there is no target " + name + " to compile for; name a"
                + " product family of Intel ("
                + String.join(", ", IntelDevice.families())
                + "), a PCI device id such as 0x9a49, either with "
                + Backend.OWN.stream()
                        .map(backend -> backend.path() + "/")
                        .collect(Collectors.joining(" or "))
                + " before it for one backend, or a target as granary devices prints it");
    }
}
