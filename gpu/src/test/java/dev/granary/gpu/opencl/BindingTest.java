package dev.granary.gpu.opencl;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.granary.testing.ChildJvm;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.util.List;

/** Tests of programs that lack LWJGL, or a part of it, in processes of their own. */
class BindingTest {
    private static final String NO_BINDING = "the binding of OpenCL is missing; add"
            + " dev.granary:granary-opencl-lwjgl to the program";
    private static final String NO_NATIVES = "the native library of LWJGL was not found; add"
            + " org.lwjgl:lwjgl with the classifier of this platform, such as natives-linux-arm64";

    /** Returns the output of a process without the jars whose names match. */
    private static List<String> lines(String missing) throws Exception {
        return ChildJvm.of(BindingProgram.class)
                .shortLived()
                .classPath(part -> !String.valueOf(part.getFileName()).matches(missing))
                .run()
                .lines();
    }

    @ParameterizedTest(name = "{displayName} {0}")
    @ValueSource(strings = {"lwjgl-.*\\.jar", "lwjgl-opencl-.*", "lwjgl-[0-9.]*\\.jar"})
    @DisplayName("the use of OpenCL without LWJGL or a jar of it is a mistake whose message names"
            + " the artifact; a probe returns the message:")
    void withoutBinding(String missing) throws Exception {
        assertEquals(
                List.of(
                        "probe=" + NO_BINDING,
                        "again=" + NO_BINDING,
                        "devices=" + NO_BINDING,
                        "wrap=" + NO_BINDING),
                lines(missing));
    }

    @Test
    @DisplayName("without the native library of LWJGL there are no devices, and the cause names"
            + " its artifact")
    void withoutNatives() throws Exception {
        assertEquals(
                List.of(
                        "probe=" + NO_NATIVES,
                        "again=" + NO_NATIVES,
                        "devices=returned",
                        "wrap=" + NO_NATIVES),
                lines("lwjgl-.*natives.*"));
    }
}
