package dev.granary.it.crash;

import dev.granary.it.crash.CrashChildProcess.Role;

import java.util.List;

/** The capacity under which processes are killed, and their roles. */
enum CrashMode {
    /** All entries fit: there are sweeps, but no evictions. No acknowledged entry may be lost. */
    KEEP(24L << 20, List.of(Role.WRITER, Role.WRITER, Role.WRITER, Role.READER)),
    /**
     * Few entries fit, and one process clears, removes and changes the capacity. Nothing may be
     * wrong, and a sweep must find little above the capacity.
     */
    EVICT(512 << 10, List.of(Role.WRITER, Role.WRITER, Role.READER, Role.UPSETTER));

    private final long capacity;
    private final List<Role> roles;

    CrashMode(long capacity, List<Role> roles) {
        this.capacity = capacity;
        this.roles = roles;
    }

    long capacity() {
        return capacity;
    }

    /**
     * Returns the bytes that the processes may have stored before a sweep: each process stores 1/16
     * of the capacity and a last entry until its own is due.
     */
    long capacityBeforeSweep() {
        long each = capacity / 16 + SelfDescribingEntries.LARGE_BYTES;
        return capacity + roles.size() * each;
    }

    /** Returns the roles of the concurrent processes. */
    List<Role> roles() {
        return roles;
    }
}
