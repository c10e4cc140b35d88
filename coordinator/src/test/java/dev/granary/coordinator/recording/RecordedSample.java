package dev.granary.coordinator.recording;

import dev.granary.cache.Backend;
import dev.granary.cache.Target;
import dev.granary.coordinator.toml.TomlException;
import dev.granary.coordinator.toml.TomlTable;
import dev.granary.gpu.Geometry;
import dev.granary.gpu.KernelDescriptor;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** Kernels for tests of recordings, and a reader of their names. */
final class RecordedSample {
    static final Target TARGET = new Target(Backend.OPENCL, "pocl", "cpu", "1");

    private RecordedSample() {}

    static KernelDescriptor kernel(String name) {
        return KernelDescriptor.builder(TARGET, name)
                .source("#include \"common.h\"\nkernel void k() {} // " + name)
                .header("common.h", "int common;")
                .launch(Geometry.of(64).local(8))
                .build();
    }

    /** Returns the names of the kernels; the file must be TOML. */
    static List<String> names(Path recording) throws IOException, TomlException {
        List<String> names = new ArrayList<>();
        for (TomlTable kernel : TomlTable.read(recording).tables("kernel", "[[kernel]]")) {
            names.add(kernel.required("name"));
        }
        return names;
    }
}
