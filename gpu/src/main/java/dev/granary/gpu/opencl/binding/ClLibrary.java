package dev.granary.gpu.opencl.binding;

import org.lwjgl.opencl.CL;
import org.lwjgl.system.Configuration;
import org.lwjgl.system.Library;
import org.lwjgl.system.Platform;

import java.util.Optional;

/**
 * The OpenCL library of this machine, loaded by LWJGL. A program may lack LWJGL, which comes with
 * the artifact {@code granary-opencl-lwjgl}. Thread-safe.
 */
public final class ClLibrary {
    /** The name on Linux without development packages. LWJGL has those of other systems. */
    private static final String NAME = "libOpenCL.so.1";

    private static final String[] BINDING = {"org.lwjgl.opencl.CL", "org.lwjgl.system.Configuration"
    };

    private static boolean isLoaded; // guarded by the class

    private ClLibrary() {}

    /**
     * Returns the reason why this program cannot call OpenCL on any machine: LWJGL is missing. It
     * is a line that names the artifact to add; empty if LWJGL is present.
     */
    public static Optional<String> missingBinding() {
        Module reader = ClLibrary.class.getModule();
        for (String className : BINDING) {
            if (!isReadable(className, reader)) {
                return Optional.of("the binding of OpenCL is missing; add"
                        + " dev.granary:granary-opencl-lwjgl to the program"
                        + andRequire("dev.granary.opencl.lwjgl"));
            }
        }
        return Optional.empty();
    }

    private static boolean isReadable(String className, Module reader) {
        try {
            Class<?> found = Class.forName(className, false, ClLibrary.class.getClassLoader());
            return reader.canRead(found.getModule());
        } catch (ClassNotFoundException | LinkageError e) {
            return false;
        }
    }

    /**
     * Loads the native libraries, once per process; a failed load is tried again by the next call.
     *
     * @return the reason if that is not possible, in a line that names the missing part and how to
     *     add it; empty if they are loaded
     */
    public static synchronized Optional<String> load() {
        if (isLoaded) {
            return Optional.empty();
        }
        Optional<String> missing = missingBinding().or(ClLibrary::missingNatives);
        if (missing.isPresent()) {
            return missing;
        }
        Configuration.OPENCL_EXPLICIT_INIT.set(true);
        if (Platform.get() == Platform.LINUX && Configuration.OPENCL_LIBRARY_NAME.get() == null) {
            Configuration.OPENCL_LIBRARY_NAME.set(NAME);
        }
        try {
            CL.create();
        } catch (UnsatisfiedLinkError e) {
            return Optional.of(
                    Platform.get() == Platform.LINUX
                            ? "the OpenCL loader " + NAME
                                    + " was not found; install it and a driver, on Debian:"
                                    + " apt-get install ocl-icd-libopencl1 pocl-opencl-icd"
                            : "OpenCL was not found: " + e.getMessage());
        } catch (IllegalStateException e) {
            // The application uses OpenCL through LWJGL and has loaded it.
        }
        isLoaded = true;
        return Optional.empty();
    }

    /** Returns the reason why LWJGL cannot call native code; empty if it can. */
    private static Optional<String> missingNatives() {
        try {
            Library.initialize();
            return Optional.empty();
        } catch (LinkageError e) { // the second time it is another one
            return Optional.of("the native library of LWJGL was not found; add org.lwjgl:lwjgl with"
                    + " the classifier of this platform, such as natives-linux-arm64"
                    + andRequire("org.lwjgl.natives"));
        }
    }

    /** Returns the second half of the advice to a program of named modules; empty otherwise. */
    private static String andRequire(String module) {
        return ClLibrary.class.getModule().isNamed()
                ? ", and require " + module + " in its module-info"
                : "";
    }
}
