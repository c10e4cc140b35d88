package dev.granary.gpu.opencl;

import dev.granary.cache.constant.ConstantLimits;
import dev.granary.cache.constant.ConstantTensorCache.Limit;
import dev.granary.cache.constant.ConstantTensorCaches;

import java.util.List;

/** Program that keeps constants on two devices of one kind, each with its own budget. */
public final class ConstantDevicesProgram {
    private static final long MEGABYTE = 1L << 20;

    private ConstantDevicesProgram() {}

    /** Prints the bytes kept on each device. */
    public static void main(String[] arguments) {
        List<OpenClDevice> devices = OpenCl.devices();
        System.out.println(
                "kinds=" + devices.stream().map(OpenClDevice::kind).distinct().toList());
        System.out.println(
                "indexes=" + devices.stream().map(OpenClDevice::index).toList());
        try (ConstantTensorCaches caches = new ConstantTensorCaches(ConstantLimits.NONE);
                OpenClEngine first = OpenClEngine.open(devices.get(0));
                OpenClEngine second = OpenClEngine.open(devices.get(1))) {
            caches.setLimit(first.device().kind(), Limit.of(1));
            use(caches, first, "a");
            use(caches, second, "a");
            System.out.println("made=" + caches.statistics().made());
            System.out.println("each=" + sizes(caches, devices));
            caches.setLimit(second.device(), Limit.of(3));
            use(caches, first, "b");
            use(caches, second, "b");
            System.out.println("own=" + sizes(caches, devices));
            caches.setLimit(second.device(), Limit.of(0));
            System.out.println("cleared=" + sizes(caches, devices));
        }
    }

    private static void use(ConstantTensorCaches caches, OpenClEngine engine, String key) {
        new OpenClConstants(caches, engine)
                .get(key, MEGABYTE, () -> engine.buffer(MEGABYTE))
                .close();
    }

    private static List<Long> sizes(ConstantTensorCaches caches, List<OpenClDevice> devices) {
        return devices.stream()
                .map(device -> caches.of(device).statistics().bytes() / MEGABYTE)
                .toList();
    }
}
