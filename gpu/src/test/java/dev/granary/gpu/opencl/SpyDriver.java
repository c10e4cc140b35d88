package dev.granary.gpu.opencl;

import dev.granary.gpu.DriverException;
import dev.granary.gpu.opencl.binding.ProgramCalls;

import java.lang.foreign.MemorySegment;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Driver of PoCL's device with a spy, for tests of other packages: counts calls and injects
 * failures.
 */
public final class SpyDriver {
    private final SpyBinding spy = new FailingBinding();
    private final Map<String, Integer> failures = new ConcurrentHashMap<>();
    private volatile boolean withholdsBinaries;

    /** Opens an engine with its own context on the device. */
    public OpenClEngine open() {
        return OpenClEngine.open(PoclDevice.get(), spy.binding());
    }

    /** Opens an engine over the application's context. */
    public OpenClEngine wrap(LwjglContext application) {
        return application.wrap(spy.binding());
    }

    /** Returns the number of compiles from source. */
    public long compiles() {
        return spy.count("createProgramWithSource");
    }

    /** Returns the number of restores from binaries. */
    public long restores() {
        return spy.count("createProgramWithBinary");
    }

    /** Returns the number of such calls, of those that {@link SpyBinding} records. */
    public long calls(String call) {
        return spy.count(call);
    }

    /** Returns the number of native objects of that kind that were created. */
    public int created(String kind) {
        return spy.created(kind);
    }

    /** Returns the native objects that were not released. */
    public Map<String, Integer> alive() {
        return spy.alive();
    }

    /** Returns the number of native objects of that kind that were not released. */
    public long alive(String kind) {
        return spy.alive().keySet().stream()
                .filter(object -> object.startsWith(kind + " "))
                .count();
    }

    /** Makes the call of that name fail once, after that many successful calls. */
    public void failAfter(String call, int calls) {
        failures.put(call, calls);
    }

    /** Makes the driver return no binaries. */
    public void withholdBinaries() {
        withholdsBinaries = true;
    }

    private final class FailingBinding extends SpyBinding {
        @Override
        void before(String call) {
            Integer remaining = failures.computeIfPresent(call, (_, calls) -> calls - 1);
            if (remaining != null && remaining < 0) {
                failures.remove(call);
                throw new DriverException(call + " failed", -5);
            }
        }

        @Override
        ProgramCalls programs() {
            return new Programs() {
                @Override
                public MemorySegment programBinary(long program, long device) {
                    return withholdsBinaries
                            ? MemorySegment.ofArray(new byte[0])
                            : super.programBinary(program, device);
                }
            };
        }
    }
}
