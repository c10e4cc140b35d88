package dev.granary.gpu.composite;

import dev.granary.cache.CompileException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * The resources of one handle: of its primitive and of all that are nested in it, each made once. Equal primitives share one, however often and
 * wherever they are nested. Owns them. Not thread-safe.
 */
final class ResourceTable implements AutoCloseable {
    private final Map<CompositeDescriptor<?>, PrimitiveResources> resources = new LinkedHashMap<>();

    /**
     * Makes the resources of {@code primitive} and of what is nested in it, as far as they are not there yet.
     *
     * @param engines those of the outermost primitive
     * @throws CompileException if a kernel that must be compiled once more does not compile; what was made stays here
     */
    void make(CompositePrimitive primitive, EngineSet engines) throws CompileException {
        if (resources.containsKey(primitive.descriptor())) {
            return;
        }
        resources.put(primitive.descriptor(), PrimitiveResources.make(primitive, engines.forNested(primitive.descriptor())));
        for (CompositePrimitive nested : primitive.nested()) {
            make(nested, engines);
        }
    }

    PrimitiveResources get(CompositePrimitive primitive) {
        PrimitiveResources resource = resources.get(primitive.descriptor());
        if (resource == null) {
            throw new IllegalStateException("The handle is closed");
        }
        return resource;
    }

    /** How many there are. */
    int count() {
        return resources.size();
    }

    @Override
    public void close() {
        List<Closer.Closeable> all = new ArrayList<>();
        resources.values().forEach(resource -> all.add(resource::close));
        resources.clear();
        Closer.all(all);
    }
}
