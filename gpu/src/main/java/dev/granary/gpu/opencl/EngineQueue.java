package dev.granary.gpu.opencl;

import dev.granary.gpu.DriverException;
import dev.granary.gpu.engine.Closer;
import dev.granary.gpu.opencl.binding.ClBinding;

import org.lwjgl.opencl.CL20;

import java.util.List;

/**
 * The queue of an engine with its context and device: created for the engine, or one of the
 * application, which the engine retains.
 *
 * @param binding the native calls
 * @param device the device, which may be a sub-device of the application
 * @param context the {@code cl_context}
 * @param handle the {@code cl_command_queue}
 * @param retainsDevice true if the engine holds a reference to the device
 */
record EngineQueue(
        ClBinding binding, OpenClDevice device, long context, long handle, boolean retainsDevice) {
    /** Creates a context and a queue on a device. */
    static EngineQueue create(OpenClDevice device, ClBinding binding) {
        long context = binding.devices().createContext(device.handle());
        try {
            long queue = binding.queues().createQueue(context, device.handle());
            return new EngineQueue(binding, device, context, queue, false);
        } catch (DriverException | Error e) {
            binding.devices().releaseContext(context);
            throw e;
        }
    }

    /**
     * Retains a queue of the application, after a check that the handles belong together. The
     * driver reads only the queue; the others are compared, so that handles in the wrong order do
     * not crash it.
     *
     * @throws IllegalArgumentException if a handle is 0, of another kind, or does not belong to the
     *     others
     * @throws IllegalStateException if OpenCL is not installed
     */
    static EngineQueue wrap(ClBinding binding, long context, long device, long queue) {
        OpenClDevice found = check(binding, context, device, queue);
        long properties = binding.queues().queueProperties(queue);
        if ((properties & CL20.CL_QUEUE_ON_DEVICE) != 0) {
            throw new IllegalArgumentException(
                    "The queue is one on the device, which takes no commands from the host: pass"
                            + " one created without CL_QUEUE_ON_DEVICE");
        }
        EngineQueue wrapped = new EngineQueue(binding, found, context, queue, found.isPart());
        wrapped.retain();
        return wrapped;
    }

    private static OpenClDevice check(ClBinding binding, long context, long device, long queue) {
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
        checkBelongs("context", context, binding.queues().queueContext(queue));
        checkBelongs("device", device, binding.queues().queueDevice(queue));
        return find(binding, device, known);
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
        for (long main = device; main != 0; main = binding.devices().parentDevice(main)) {
            for (OpenClDevice each : known) {
                if (each.handle() == main) {
                    return main == device ? each : each.part(device);
                }
            }
        }
        throw new IllegalArgumentException("The device 0x" + Long.toHexString(device)
                + " is none that OpenCl.devices() returns: use one OpenCL loader in the process");
    }

    /** Retains the objects; if that fails, none of them. */
    private void retain() {
        Closer retained = new Closer();
        try {
            if (retainsDevice) {
                binding.devices().retainDevice(device.handle());
                retained.add(() -> binding.devices().releaseDevice(device.handle()));
            }
            binding.devices().retainContext(context);
            retained.add(() -> binding.devices().releaseContext(context));
            binding.queues().retainQueue(handle);
        } catch (DriverException | Error e) {
            Closer.closeAfter(e, retained::close);
            throw e;
        }
    }

    /** Releases the engine's references, with which objects of its own end. */
    void release() {
        try (Closer releases = new Closer()) { // all, even if the driver fails to release one
            if (retainsDevice) {
                releases.add(() -> binding.devices().releaseDevice(device.handle()));
            }
            releases.add(() -> binding.devices().releaseContext(context));
            releases.add(() -> binding.queues().releaseQueue(handle));
        }
    }
}
