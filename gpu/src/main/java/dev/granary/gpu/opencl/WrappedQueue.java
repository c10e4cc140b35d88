package dev.granary.gpu.opencl;

import org.lwjgl.opencl.CL10;
import org.lwjgl.opencl.CL20;

import java.util.List;

/**
 * A queue that belongs to the application, with its context and device, as an engine uses it.
 *
 * @param device the device, which may be a sub-device
 */
record WrappedQueue(OpenClDevice device, long context, long queue) {
    /**
     * Checks that the handles belong together. The driver reads only the queue; the others are
     * compared, so that handles in the wrong order do not crash it.
     *
     * @throws IllegalArgumentException if a handle is 0, of another kind, or does not belong to the
     *     others
     * @throws IllegalStateException if OpenCL is not installed
     */
    static WrappedQueue of(ClBinding binding, long context, long device, long queue) {
        List<OpenClDevice> known =
                switch (OpenCl.probe()) {
                    case OpenCl.Probe.Found found -> found.devices();
                    case OpenCl.Probe.Missing missing ->
                        throw new IllegalStateException(missing.cause());
                };
        checkHandle("context (cl_context)", context, known);
        checkHandle("queue (cl_command_queue)", queue, known);
        if (device == 0) {
            throw new IllegalArgumentException("The device (cl_device_id) is 0");
        }
        if (context == queue || device == queue || device == context) {
            throw new IllegalArgumentException(
                    "Two of context, device and queue are the same handle: pass the cl_context, the"
                            + " cl_device_id and the cl_command_queue in this order");
        }
        checkBelongs("context", context, binding.queueContext(queue));
        checkBelongs("device", device, binding.queueDevice(queue));
        if ((binding.queueProperties(queue) & CL20.CL_QUEUE_ON_DEVICE) != 0) {
            throw new IllegalArgumentException(
                    "The queue is one on the device, which takes no commands from the host: pass"
                            + " one created without CL_QUEUE_ON_DEVICE");
        }
        return new WrappedQueue(find(binding, device, known), context, queue);
    }

    private static void checkHandle(String name, long handle, List<OpenClDevice> known) {
        if (handle == 0) {
            throw new IllegalArgumentException("The " + name + " is 0");
        }
        if (known.stream().anyMatch(each -> each.handle() == handle)) {
            throw new IllegalArgumentException("The " + name + " is the handle of a device: pass"
                    + " context, device and queue in this order");
        }
    }

    private static void checkBelongs(String name, long handle, long actual) {
        if (handle != actual) {
            throw new IllegalArgumentException("The queue belongs to the " + name + " 0x"
                    + Long.toHexString(actual) + ", not to 0x" + Long.toHexString(handle)
                    + ": pass the " + name + " that the queue was created with");
        }
    }

    private static OpenClDevice find(ClBinding binding, long device, List<OpenClDevice> known) {
        for (long main = device; main != 0; main = binding.parentDevice(main)) {
            for (OpenClDevice each : known) {
                if (each.handle() == main) {
                    return main == device ? each : each.part(device);
                }
            }
        }
        throw new IllegalArgumentException("The device 0x" + Long.toHexString(device)
                + " is none that OpenCl.devices() returns: use one OpenCL loader in the process");
    }

    /** Returns true if commands run in the order in which they were enqueued. */
    boolean isInOrder(ClBinding binding) {
        return (binding.queueProperties(queue) & CL10.CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE) == 0;
    }

    /** Retains the objects; if that fails, none of them. */
    void retain(ClBinding binding) {
        if (device.isPart()) {
            binding.retainDevice(device.handle());
        }
        try {
            binding.retainContext(context);
            try {
                binding.retainQueue(queue);
            } catch (OpenClException | Error e) {
                binding.releaseContext(context);
                throw e;
            }
        } catch (OpenClException | Error e) {
            if (device.isPart()) {
                binding.releaseDevice(device.handle());
            }
            throw e;
        }
    }
}
