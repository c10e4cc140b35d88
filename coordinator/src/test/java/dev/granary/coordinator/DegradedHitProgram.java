package dev.granary.coordinator;

import dev.granary.cache.BinaryKind;
import dev.granary.cache.KernelBinaries;
import dev.granary.cache.Target;
import dev.granary.cache.contract.TestEntries;
import dev.granary.coordinator.config.GranaryConfig;
import dev.granary.coordinator.config.GranaryConfigBuilder;
import dev.granary.coordinator.statistics.Counter;
import dev.granary.gpu.KernelDescriptor;
import dev.granary.gpu.KernelEngine;
import dev.granary.gpu.KernelProgram;
import dev.granary.gpu.levelzero.LevelZero;
import dev.granary.gpu.levelzero.LevelZeroEngine;
import dev.granary.gpu.offline.Ocloc;
import dev.granary.gpu.opencl.OpenCl;
import dev.granary.gpu.opencl.OpenClDevice;
import dev.granary.gpu.opencl.OpenClEngine;
import dev.granary.local.LocalTier;
import dev.granary.local.LocalTierConfig;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;

/**
 * Program on Intel's driver: {@code store} puts an entry whose binary has SPIR-V and no device code
 * into a directory, {@code lookup} gets it from there through the cache. It prints what it sees.
 */
public final class DegradedHitProgram {
    private static final int DEVICE_CODE = 0xff00_0005; // type of a section
    private static final int SECTION_BYTES = 64;

    private DegradedHitProgram() {}

    /** Runs with the mode, the backend and the directory. */
    public static void main(String[] arguments) throws Exception {
        GranaryConfigBuilder config = GranaryConfig.builder()
                .environment(Map.of("HOME", "/nonexistent"))
                .directory(Path.of(arguments[2]));
        boolean isStore = arguments[0].equals("store");
        if (arguments[1].equals("opencl")) {
            Optional<OpenClDevice> device = OpenCl.devices().stream()
                    .filter(found -> found.target().vendor().equals("intel"))
                    .findFirst();
            if (device.isEmpty()) {
                System.out.println("missing=no device of Intel's OpenCL");
                return;
            }
            try (OpenClEngine engine = OpenClEngine.open(device.get())) {
                run(engine, config.build(), isStore);
            }
        } else if (LevelZero.devices().isEmpty()) {
            System.out.println("missing=" + LevelZero.probe());
        } else {
            try (LevelZeroEngine engine =
                    LevelZeroEngine.open(LevelZero.devices().getFirst())) {
                run(engine, config.build(), isStore);
            }
        }
    }

    private static KernelDescriptor descriptor(Target target) {
        return KernelDescriptor.builder(target, "degraded")
                .source("kernel void degraded(global int* v) { v[get_global_id(0)] *= 3; }\n")
                .extraDigest("simulated")
                .build();
    }

    private static void run(KernelEngine engine, GranaryConfig config, boolean isStore)
            throws Exception {
        KernelDescriptor descriptor = descriptor(engine.target());
        if (isStore) {
            try (LocalTier tier =
                    LocalTier.open(LocalTierConfig.builder(config.directory()).build())) {
                System.out.println("stored="
                        + tier.store(TestEntries.entry(
                                descriptor.getId(), KernelBinaries.of(withoutCode()))));
            }
            return;
        }
        try (Granary granary = Granary.open(config)) {
            LookupResult<KernelProgram> found = granary.lookup(engine, descriptor);
            System.out.println("source=" + found.source());
            System.out.println("origin=" + found.primitive().origin());
            System.out.println(
                    "bytes=" + found.primitive().getBinaries(BinaryKind.KERNEL).byteSize());
            System.out.println(
                    "recompiled=" + granary.statistics().count(Counter.RESTORES_RECOMPILED));
        }
    }

    /** Returns a binary for the device whose section of device code is empty. */
    private static byte[] withoutCode() throws Exception {
        if (!(Ocloc.probe() instanceof Ocloc.Probe.Found(Ocloc ocloc))) {
            throw new IllegalStateException("no ocloc");
        }
        byte[] binary = ocloc.compile(
                descriptor(ocloc.targets("opencl/0xff20").getFirst()), Duration.ofMinutes(5));
        ByteBuffer elf = ByteBuffer.wrap(binary).order(ByteOrder.LITTLE_ENDIAN);
        int sections = (int) elf.getLong(40);
        for (int i = 0; i < elf.getShort(60); i++) {
            int section = sections + i * SECTION_BYTES;
            if (elf.getInt(section + 4) == DEVICE_CODE) {
                elf.putLong(section + 32, 0);
            }
        }
        return binary;
    }
}
