package dev.granary.gpu.engine;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import java.util.ArrayList;
import java.util.List;

/** Tests of the release of native objects when their engine closes. */
class EngineLifetimeTest {
    private final EngineLifetime lifetime = new EngineLifetime("the device");
    private final List<String> released = new ArrayList<>();

    @Test
    @DisplayName("objects are released newest first, then the engine; each of them once")
    void order() {
        NativeHandle first = handle(1);
        handle(2);
        handle(3).release();

        lifetime.releaseAll(() -> released.add("engine"));
        first.release();

        assertEquals(List.of("3", "2", "1", "engine"), released);
    }

    @Test
    @DisplayName("a release that fails leaves no other object and not the engine unreleased")
    void failures() {
        handle(1);
        failing(2);
        handle(3);
        failing(4);

        Exception thrown = assertThrows(
                IllegalStateException.class,
                () -> lifetime.releaseAll(() -> released.add("engine")));

        assertEquals("lost 4", thrown.getMessage());
        assertEquals("lost 2", thrown.getSuppressed()[0].getMessage());
        assertEquals(List.of("3", "1", "engine"), released);
    }

    private NativeHandle handle(long object) {
        return new NativeHandle(
                lifetime, "object", object, handle -> released.add(Long.toString(handle)));
    }

    private void failing(long object) {
        new NativeHandle(lifetime, "object", object, handle -> {
            throw new IllegalStateException("lost " + handle);
        });
    }
}
