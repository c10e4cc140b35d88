package dev.granary.gpu.opencl;

import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/** The real driver of PoCL's device with a spy before it, for tests of other packages: counts what happens, and fails where it is told to. */
public final class SpyDriver {
    private final SpyBinding spy = new Failing();
    private final Map<String, Integer> failures = new ConcurrentHashMap<>();
    private volatile boolean isMute;

    /** A context of its own on the device. */
    public OpenClEngine open() {
        return OpenClEngine.open(PoclDevice.get(), spy);
    }

    /** How often sources reached the compiler. */
    public long compiles() {
        return spy.count("createProgramWithSource");
    }

    /** How often binaries reached the driver. */
    public long restores() {
        return spy.count("createProgramWithBinary");
    }

    /** How often that call was made, of those that {@link SpyBinding} lists. */
    public long calls(String call) {
        return spy.count(call);
    }

    /** How many native objects of that kind were created. */
    public int created(String kind) {
        return spy.created(kind);
    }

    /** What was created and not released. */
    public Map<String, Integer> alive() {
        return spy.alive();
    }

    /** How many objects of that kind are alive. */
    public long alive(String kind) {
        return spy.alive().keySet().stream().filter(object -> object.startsWith(kind + " ")).count();
    }

    /** Lets the call of that name fail once, after so many that work. */
    public void failAfter(String call, int calls) {
        failures.put(call, calls);
    }

    /** Lets the driver hand out no binaries. */
    public void mute() {
        isMute = true;
    }

    private final class Failing extends SpyBinding {
        private void check(String call) {
            Integer left = failures.computeIfPresent(call, (_, calls) -> calls - 1);
            if (left != null && left < 0) {
                failures.remove(call);
                throw new OpenClException(call, -5);
            }
        }

        @Override
        MemorySegment programBinary(long program) {
            return isMute ? MemorySegment.ofArray(new byte[0]) : super.programBinary(program);
        }

        @Override
        long createProgramWithSource(long context, List<String> sources) {
            check("createProgramWithSource");
            return super.createProgramWithSource(context, sources);
        }

        @Override
        long createProgramWithBinary(long context, long device, MemorySegment binary) {
            check("createProgramWithBinary");
            return super.createProgramWithBinary(context, device, binary);
        }

        @Override
        long createKernel(long program, String name) {
            check("createKernel");
            return super.createKernel(program, name);
        }

        @Override
        long createBuffer(long context, long bytes) {
            check("createBuffer");
            return super.createBuffer(context, bytes);
        }

        @Override
        long createSubBuffer(long buffer, long offset, long bytes) {
            check("createSubBuffer");
            return super.createSubBuffer(buffer, offset, bytes);
        }

        @Override
        void writeBuffer(long queue, long buffer, MemorySegment from) {
            check("writeBuffer");
            super.writeBuffer(queue, buffer, from);
        }
    }
}
