package dev.granary.it.crash;

import dev.granary.it.crash.CrashChildProcess.Role;
import java.util.List;

/** Under which capacity processes are killed, and what they do. */
enum CrashMode {
    /** All that is stored fits, but not with what was replaced: swept now and then, never evicted. Nothing that was acknowledged may be lost. */
    KEEP(24L << 20, List.of(Role.WRITER, Role.WRITER, Role.WRITER, Role.READER)),
    /** Little fits, and one process clears, removes and changes the capacity. Nothing may be wrong, and the capacity must hold. */
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

    /** What the processes that run at once do. */
    List<Role> roles() {
        return roles;
    }
}
