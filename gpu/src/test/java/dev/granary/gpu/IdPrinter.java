package dev.granary.gpu;

import dev.granary.cache.Backend;
import dev.granary.cache.Target;
import dev.granary.gpu.device.DriverTraits;

import java.util.HexFormat;

/** Program that prints ids, for a test that compares them between processes. */
public final class IdPrinter {
    static final Target LAZY = new Target(Backend.OPENCL, DriverTraits.POCL, "device", "driver");

    private IdPrinter() {}

    /** Prints the id of a descriptor that uses every field, and the ids of two other drivers. */
    public static void main(String[] arguments) {
        System.out.println("id=" + hex(everyField()));
        for (String vendor : new String[] {"intel", "another vendor"}) {
            Target target = new Target(Backend.OPENCL, vendor, "device", "driver");
            System.out.println("id of " + vendor + "="
                    + hex(KernelDescriptor.builder(target, "k")
                            .source("kernel void k() {}")
                            .build()));
        }
    }

    static String hex(KernelDescriptor descriptor) {
        return HexFormat.of().formatHex(descriptor.getId().bytes());
    }

    static KernelDescriptor everyField() {
        return KernelDescriptor.builder(LAZY, "I am TITLE")
                .source("#include \"iI.clh\"\n"
                        + "kernel void k(global int* o) { o[0] = I; } // \u0131\u0130\u00e4")
                .source("kernel void z(global int* o) {}")
                .header("iI.clh", "#define I 1\n")
                .header("sub/b.clh", "")
                .includeDirectory("sub")
                .options("-DTITLE=I -cl-mad-enable")
                .entry("z", "k")
                .launch(Geometry.of(1234567).local(1))
                .launch("k", Geometry.of(4, 4))
                .tag("\u0131")
                .build();
    }
}
