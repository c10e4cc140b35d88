package dev.granary.gpu.opencl;

import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;

/** Binding that records the calls to the real driver, and counts created and released objects. */
class SpyBinding extends ClBinding {
    final List<String> calls = new CopyOnWriteArrayList<>();
    final List<String> builtWith = new CopyOnWriteArrayList<>();
    private final Map<String, Integer> alive = new ConcurrentHashMap<>();
    private final Map<String, Integer> created = new ConcurrentHashMap<>();

    long count(String call) {
        return calls.stream().filter(call::equals).count();
    }

    /**
     * Returns the objects that were not released, by kind and handle; a negative number means
     * released too often.
     */
    Map<String, Integer> alive() {
        return Map.copyOf(alive);
    }

    int created(String kind) {
        return created.getOrDefault(kind, 0);
    }

    private long created(String kind, long handle) {
        created.merge(kind, 1, Integer::sum);
        add(kind, handle, 1);
        return handle;
    }

    private void add(String kind, long handle, int change) {
        alive.compute(kind + " " + handle, (key, before) -> {
            int now = (before == null ? 0 : before) + change;
            return now == 0 ? null : now;
        });
    }

    @Override
    void retainDevice(long device) {
        super.retainDevice(device);
        created("device", device);
    }

    @Override
    void releaseDevice(long device) {
        add("device", device, -1);
        super.releaseDevice(device);
    }

    @Override
    long createContext(long device) {
        return created("context", super.createContext(device));
    }

    @Override
    void retainContext(long context) {
        super.retainContext(context);
        created("context", context);
    }

    @Override
    void releaseContext(long context) {
        add("context", context, -1);
        super.releaseContext(context);
    }

    @Override
    long createQueue(long context, long device) {
        return created("queue", super.createQueue(context, device));
    }

    @Override
    void retainQueue(long queue) {
        super.retainQueue(queue);
        created("queue", queue);
    }

    @Override
    void releaseQueue(long queue) {
        add("queue", queue, -1);
        super.releaseQueue(queue);
    }

    @Override
    long createProgramWithSource(long context, List<String> sources) {
        calls.add("createProgramWithSource");
        return created("program", super.createProgramWithSource(context, sources));
    }

    @Override
    long createProgramWithBinary(long context, long device, MemorySegment binary) {
        calls.add("createProgramWithBinary");
        return created("program", super.createProgramWithBinary(context, device, binary));
    }

    @Override
    boolean buildProgram(long program, long device, String options) {
        builtWith.add(options);
        return super.buildProgram(program, device, options);
    }

    @Override
    MemorySegment programBinary(long program, long device) {
        calls.add("programBinary");
        return super.programBinary(program, device);
    }

    @Override
    void releaseProgram(long program) {
        add("program", program, -1);
        super.releaseProgram(program);
    }

    @Override
    long createKernel(long program, String name) {
        long kernel = created("kernel", super.createKernel(program, name));
        calls.add("createKernel");
        return kernel;
    }

    @Override
    List<Long> createKernels(long program) {
        List<Long> kernels = super.createKernels(program);
        kernels.forEach(kernel -> created("kernel", kernel));
        calls.add("createKernel");
        return kernels;
    }

    @Override
    void releaseKernel(long kernel) {
        add("kernel", kernel, -1);
        super.releaseKernel(kernel);
    }

    @Override
    void launch(long queue, long kernel, List<Long> global, List<Long> local) {
        calls.add("launch");
        super.launch(queue, kernel, global, local);
    }

    @Override
    long enqueue(
            long queue, long kernel, List<Long> global, List<Long> local, List<Long> waitList) {
        return created("event", super.enqueue(queue, kernel, global, local, waitList));
    }

    @Override
    long enqueueMarker(long queue, List<Long> waitList) {
        return created("event", super.enqueueMarker(queue, waitList));
    }

    @Override
    void retainEvent(long event) {
        super.retainEvent(event);
        created("event", event);
    }

    @Override
    void releaseEvent(long event) {
        add("event", event, -1);
        super.releaseEvent(event);
    }

    @Override
    long createBuffer(long context, long bytes) {
        return created("buffer", super.createBuffer(context, bytes));
    }

    @Override
    long createSubBuffer(long buffer, long offset, long bytes) {
        calls.add("createSubBuffer");
        return created("buffer", super.createSubBuffer(buffer, offset, bytes));
    }

    @Override
    void retainBuffer(long buffer) {
        super.retainBuffer(buffer);
        created("buffer", buffer);
    }

    @Override
    void releaseBuffer(long buffer) {
        add("buffer", buffer, -1);
        super.releaseBuffer(buffer);
    }
}
