package dev.granary.gpu.opencl;

import dev.granary.gpu.lifetime.NativeHandle;
import dev.granary.gpu.lifetime.Releases;
import dev.granary.gpu.opencl.driver.PoclLaunchLock;

import java.util.ArrayList;
import java.util.List;

/**
 * The objects of an engine that a launch uses, held until it is closed: buffers, kernel, program,
 * and PoCL's launch lock. Not thread-safe, but it may be closed in another thread.
 */
final class LaunchHolds implements AutoCloseable {
    private final List<NativeHandle.Hold> handles = new ArrayList<>();
    private final List<ProgramHandle> programs = new ArrayList<>();
    private boolean hasPoclLock;

    /** Holds an object of the engine and returns its native handle. Requires an engine lease. */
    long add(NativeHandle.Hold hold) {
        handles.add(hold);
        return hold.handle();
    }

    /** Holds a program that cannot be released meanwhile, because the caller has a reference. */
    void add(ProgramHandle program) {
        if (program.retain()) {
            programs.add(program);
        }
    }

    /** Begins a launch that must not coincide with the taking of binaries. */
    void lockPocl() {
        PoclLaunchLock.begin();
        hasPoclLock = true;
    }

    @Override
    public void close() {
        if (hasPoclLock) {
            hasPoclLock = false;
            PoclLaunchLock.end();
        }
        List<Runnable> releases = new ArrayList<>(handles.size() + programs.size());
        handles.forEach(handle -> releases.add(handle::close));
        programs.forEach(program -> releases.add(program::release));
        handles.clear();
        programs.clear();
        Releases.perform(releases);
    }
}
