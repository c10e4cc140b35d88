package dev.granary.it.crash;

import dev.granary.it.crash.CrashChildProcess.Role;

import java.util.List;

/** The capacity under which processes are killed, and their roles. */
enum CrashMode {
    /**
     * All entries fit, but not together with replaced ones: there are sweeps, but no evictions. No
     * acknowledged entry may be lost.
     */
    KEEP(24L << 20, List.of(Role.WRITER, Role.WRITER, Role.WRITER, Role.READER)),
    /**
     * Few entries fit, and one process clears, removes and changes the capacity. Nothing may be
     * wrong, and the usage must stay within the capacity.
     */
    EVICT(3L << 20, List.of(Role.WRITER, Role.WRITER, Role.READER, Role.UPSETTER));

    private final long capacity;
    private final List<Role> roles;

    CrashMode(long capacity, List<Role> roles) {
        this.capacity = capacity;
        this.roles = roles;
    }

    long capacity() {
        return capacity;
    }

    /** Returns the roles of the concurrent processes. */
    List<Role> roles() {
        return roles;
    }
}
