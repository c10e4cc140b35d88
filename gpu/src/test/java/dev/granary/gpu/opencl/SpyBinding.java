package dev.granary.gpu.opencl;

import dev.granary.gpu.opencl.binding.ClBinding;
import dev.granary.gpu.opencl.binding.DeviceCalls;
import dev.granary.gpu.opencl.binding.MemoryCalls;
import dev.granary.gpu.opencl.binding.ProgramCalls;
import dev.granary.gpu.opencl.binding.QueueCalls;

import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;

/** Spy that records the calls to the real driver, and counts created and released objects. */
class SpyBinding {
    final List<String> calls = new CopyOnWriteArrayList<>();
    final List<String> builtWith = new CopyOnWriteArrayList<>();
    private final Map<String, Integer> alive = new ConcurrentHashMap<>();
    private final Map<String, Integer> created = new ConcurrentHashMap<>();

    /** Returns a binding whose program calls are the given ones, and whose others are real. */
    static ClBinding with(ProgramCalls programs) {
        ClBinding real = ClBinding.LIBRARY;
        return new ClBinding(real.devices(), programs, real.memory(), real.queues());
    }

    /** Returns a binding with the recorded calls. */
    final ClBinding binding() {
        return new ClBinding(new Devices(), programs(), new Memory(), new Queues());
    }

    /** Returns the calls for programs, which a test may change. */
    ProgramCalls programs() {
        return new Programs();
    }

    /** Runs before some of the native calls. */
    void before(String call) {}

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

    private void released(String kind, long handle) {
        add(kind, handle, -1);
    }

    private void add(String kind, long handle, int change) {
        alive.compute(kind + " " + handle, (key, before) -> {
            int now = (before == null ? 0 : before) + change;
            return now == 0 ? null : now;
        });
    }

    private final class Devices extends DeviceCalls {
        @Override
        public void retainDevice(long device) {
            super.retainDevice(device);
            created("device", device);
        }

        @Override
        public void releaseDevice(long device) {
            released("device", device);
            super.releaseDevice(device);
        }

        @Override
        public long createContext(long device) {
            return created("context", super.createContext(device));
        }

        @Override
        public void retainContext(long context) {
            super.retainContext(context);
            created("context", context);
        }

        @Override
        public void releaseContext(long context) {
            released("context", context);
            super.releaseContext(context);
        }
    }

    /** The recorded calls for programs. */
    class Programs extends ProgramCalls {
        @Override
        public long createProgramWithSource(long context, List<String> sources) {
            before("createProgramWithSource");
            calls.add("createProgramWithSource");
            return created("program", super.createProgramWithSource(context, sources));
        }

        @Override
        public long createProgramWithIL(long context, MemorySegment module) {
            calls.add("createProgramWithIL");
            return created("program", super.createProgramWithIL(context, module));
        }

        @Override
        public long createProgramWithBinary(long context, long device, MemorySegment binary) {
            before("createProgramWithBinary");
            calls.add("createProgramWithBinary");
            return created("program", super.createProgramWithBinary(context, device, binary));
        }

        @Override
        public boolean buildProgram(long program, long device, String options) {
            builtWith.add(options);
            return super.buildProgram(program, device, options);
        }

        @Override
        public MemorySegment programBinary(long program, long device) {
            calls.add("programBinary");
            return super.programBinary(program, device);
        }

        @Override
        public void releaseProgram(long program) {
            released("program", program);
            super.releaseProgram(program);
        }

        @Override
        public long createKernel(long program, String name) {
            before("createKernel");
            long kernel = created("kernel", super.createKernel(program, name));
            calls.add("createKernel");
            return kernel;
        }

        @Override
        public List<Long> createKernels(long program) {
            List<Long> kernels = super.createKernels(program);
            kernels.forEach(kernel -> created("kernel", kernel));
            calls.add("createKernel");
            return kernels;
        }

        @Override
        public void releaseKernel(long kernel) {
            released("kernel", kernel);
            super.releaseKernel(kernel);
        }
    }

    private final class Queues extends QueueCalls {
        @Override
        public long createQueue(long context, long device) {
            return created("queue", super.createQueue(context, device));
        }

        @Override
        public void retainQueue(long queue) {
            super.retainQueue(queue);
            created("queue", queue);
        }

        @Override
        public void releaseQueue(long queue) {
            released("queue", queue);
            super.releaseQueue(queue);
        }

        @Override
        public int launch(long queue, long kernel, List<Long> global, List<Long> local) {
            before("launch");
            calls.add("launch");
            return super.launch(queue, kernel, global, local);
        }

        @Override
        public long enqueue(long queue, long kernel, List<Long> global, List<Long> local) {
            return created("event", super.enqueue(queue, kernel, global, local));
        }

        @Override
        public void releaseEvent(long event) {
            released("event", event);
            super.releaseEvent(event);
        }
    }

    private final class Memory extends MemoryCalls {
        @Override
        public long createBuffer(long context, long bytes) {
            before("createBuffer");
            return created("buffer", super.createBuffer(context, bytes));
        }

        @Override
        public long createSubBuffer(long buffer, long offset, long bytes) {
            before("createSubBuffer");
            calls.add("createSubBuffer");
            return created("buffer", super.createSubBuffer(buffer, offset, bytes));
        }

        @Override
        public void retainBuffer(long buffer) {
            super.retainBuffer(buffer);
            created("buffer", buffer);
        }

        @Override
        public void releaseBuffer(long buffer) {
            released("buffer", buffer);
            super.releaseBuffer(buffer);
        }

        @Override
        public void readBuffer(long queue, long buffer, MemorySegment into) {
            before("readBuffer");
            super.readBuffer(queue, buffer, into);
        }

        @Override
        public void writeBuffer(long queue, long buffer, MemorySegment from) {
            before("writeBuffer");
            super.writeBuffer(queue, buffer, from);
        }
    }
}
