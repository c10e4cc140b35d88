package dev.granary.gpu.levelzero;

import org.jspecify.annotations.Nullable;

import java.lang.ref.Cleaner;
import java.util.Map;
import java.util.WeakHashMap;

/**
 * The modules of one engine for primitives in use, so that a second load takes microseconds. A
 * module is destroyed after its primitive is unreachable and its kernels are closed. Thread-safe.
 */
final class EngineModules {
    private static final Cleaner CLEANER = Cleaner.create();

    // guarded by this; a module does not refer to its primitive
    private final Map<LevelZeroPrimitive, NativeModule> modules = new WeakHashMap<>();

    /** Returns the module of a primitive, retained for the caller, or null. */
    synchronized @Nullable NativeModule retained(LevelZeroPrimitive primitive) {
        NativeModule module = modules.get(primitive);
        return module != null && module.handle().retain() ? module : null;
    }

    /**
     * Keeps the module of a primitive. If another thread was faster, the module is released.
     *
     * @param made a module, whose ownership passes to this table
     */
    synchronized void keep(LevelZeroPrimitive primitive, NativeModule made) {
        if (modules.containsKey(primitive)) {
            made.handle().release();
            return;
        }
        modules.put(primitive, made);
        CLEANER.register(primitive, made.handle()::release);
    }
}
