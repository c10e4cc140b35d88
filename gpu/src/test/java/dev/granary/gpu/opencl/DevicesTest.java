package dev.granary.gpu.opencl;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.granary.cache.BinaryKind;
import dev.granary.cache.Target;
import dev.granary.cache.constant.ConstantLimits;
import dev.granary.cache.constant.ConstantTensorCaches;
import dev.granary.gpu.DriverException;
import dev.granary.gpu.DriverProcess;
import dev.granary.gpu.KernelDescriptor;
import dev.granary.gpu.KernelProgram;
import dev.granary.gpu.LoadedKernels;
import dev.granary.gpu.opencl.binding.ClBinding;
import dev.granary.gpu.opencl.binding.DeviceCalls;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.lwjgl.opencl.CL10;

import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;

/** Tests of several devices and of sub-devices. */
@NeedsPocl
class DevicesTest {
    @Test
    @DisplayName("a sub-device shares its main device's target, ids and binaries")
    void subDevices() throws Exception {
        OpenClDevice device = PoclDevice.get();
        assumeTrue(device.computeUnits() > 1, "a device of one compute unit cannot be split");
        List<OpenClDevice> parts = device.split(1);
        assertEquals(device.computeUnits(), parts.size());
        KernelDescriptor descriptor = SampleKernels.builder(device.target()).build();
        try (OpenClEngine whole = OpenClEngine.open(device);
                OpenClEngine part = OpenClEngine.open(parts.getFirst())) {
            assertEquals(whole.target(), part.target());
            assertEquals(
                    descriptor.getId(),
                    SampleKernels.builder(part.target()).build().getId());
            KernelProgram built = whole.create(descriptor);
            KernelProgram restored = part.create(
                    descriptor, built.getBinaries(BinaryKind.KERNEL), BinaryKind.KERNEL);
            try (LoadedKernels kernels = part.load(restored)) {
                SampleKernels.checkReverse(part, kernels, SampleKernels.SMALL_GROUPS);
            }
            try (LoadedKernels kernels = part.load(built)) {
                SampleKernels.checkReverse(part, kernels, SampleKernels.SMALL_GROUPS);
            }
        }
    }

    @Test
    @Tag("exhaustive")
    @DisplayName("two devices of one platform keep their own binaries; those of another target"
            + " are refused before the driver call")
    void twoDevices(@TempDir Path directory) throws Exception {
        String output = DriverProcess.of(DevicesProgram.class, directory)
                .variables(Map.of("POCL_DEVICES", "pthread basic"))
                .run()
                .output();
        assertEquals("2", DriverProcess.value(output, "count"));
        // PoCL's device version contains the kind of device: pthread and basic differ, although
        // both use the same CPU.
        assertNotEquals(
                DriverProcess.value(output, "target0"), DriverProcess.value(output, "target1"));
        assertEquals(
                1,
                output.lines()
                        .filter(line -> line.startsWith("target") && line.contains("basic-"))
                        .count(),
                output);
        String expected = String.valueOf(
                Arrays.hashCode(SampleKernels.reversed(SampleKernels.SMALL_GROUPS, 2)));
        assertEquals(expected, DriverProcess.value(output, "result0"));
        assertEquals(expected, DriverProcess.value(output, "result1"));
        assertEquals("IllegalArgumentException", DriverProcess.value(output, "offered"));
    }

    @Test
    @Tag("exhaustive")
    @DisplayName("two equal devices with different ordinals have one target")
    void equalDevices(@TempDir Path directory) throws Exception {
        String output = DriverProcess.of(DevicesProgram.class, directory)
                .variables(Map.of("POCL_DEVICES", "pthread pthread"))
                .run()
                .output();
        assertEquals("2", DriverProcess.value(output, "count"));
        assertEquals(
                DriverProcess.value(output, "target0"), DriverProcess.value(output, "target1"));
        assertTrue(DriverProcess.value(output, "offered").startsWith("accepted"), output);
    }

    @Test
    @DisplayName("two devices of one kind have a cache and the whole budget each, or a budget of"
            + " their own")
    void constantsOfTwoDevices(@TempDir Path directory) throws Exception {
        String output = DriverProcess.of(ConstantDevicesProgram.class, directory)
                .variables(Map.of("POCL_DEVICES", "pthread basic"))
                .run()
                .output();
        assertEquals("[CPU]", DriverProcess.value(output, "kinds"));
        assertEquals("[0, 1]", DriverProcess.value(output, "indexes"));
        assertEquals("2", DriverProcess.value(output, "made"), "nothing is shared between devices");
        assertEquals("[1, 1]", DriverProcess.value(output, "each"));
        assertEquals("[1, 2]", DriverProcess.value(output, "own"));
        assertEquals("[1, 0]", DriverProcess.value(output, "cleared"));
    }

    @Test
    @DisplayName("constants of a sub-device count against the budget of its main device")
    void constantsOfSubDevices() {
        OpenClDevice device = PoclDevice.get();
        assumeTrue(device.computeUnits() > 1, "a device of one compute unit cannot be split");
        OpenClDevice part = device.split(1).getFirst();
        try (ConstantTensorCaches caches = new ConstantTensorCaches(ConstantLimits.NONE);
                OpenClEngine whole = OpenClEngine.open(device);
                OpenClEngine half = OpenClEngine.open(part)) {
            assertSame(
                    new OpenClConstants(caches, whole).cache(),
                    new OpenClConstants(caches, half).cache());
        }
    }

    @Test
    @DisplayName("a device whose driver fails every query is found, with a stable target")
    void driverThatFails() {
        ClBinding real = ClBinding.LIBRARY;
        DeviceCalls failing = new DeviceCalls() {
            @Override
            public String platformText(long platform, int info) {
                throw new DriverException("clGetPlatformInfo failed", CL10.CL_OUT_OF_HOST_MEMORY);
            }

            @Override
            public String deviceText(long device, int info) {
                return info == CL10.CL_DEVICE_NAME ? "  " : super.deviceText(device, info);
            }
        };
        ClBinding binding = new ClBinding(failing, real.programs(), real.memory(), real.queues());
        long platform = failing.platforms().getFirst();
        long device = failing.devices(platform).getFirst();
        OpenClDevice found = OpenClDevice.probe(binding, platform, device);
        assertEquals(Target.UNKNOWN, found.name());
        assertEquals(
                found.target(), OpenClDevice.probe(binding, platform, device).target());
        assertNotEquals(OpenClDevice.probe(real, platform, device).target(), found.target());
    }
}
