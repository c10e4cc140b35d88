package dev.granary.gpu.composite;

import dev.granary.cache.CompileException;
import dev.granary.gpu.composite.resource.PrimitiveResources;
import dev.granary.gpu.engine.Closer;

import java.util.LinkedHashMap;
import java.util.Map;

/**
 * The resources of one handle: of its primitive and of all nested ones. Equal primitives share one
 * resource, wherever they are nested. The table owns the resources. Not thread-safe.
 */
final class ResourceTable implements AutoCloseable {
    private final Map<CompositeDescriptor<?>, PrimitiveResources> resources = new LinkedHashMap<>();

    /**
     * Creates the missing resources of {@code primitive} and of its nested primitives.
     *
     * @param engines the engines of the outermost primitive
     * @throws CompileException if a kernel must be compiled again and does not compile; resources
     *     created before stay here
     */
    void createAll(CompositePrimitive primitive, EngineSet engines) throws CompileException {
        if (resources.containsKey(primitive.descriptor())) {
            return;
        }
        EngineSet own = engines.forNested(primitive.descriptor());
        resources.put(
                primitive.descriptor(),
                PrimitiveResources.create(
                        primitive.programs(), primitive.constants(), own.main(), own::engineFor));
        for (CompositePrimitive nested : primitive.nested()) {
            createAll(nested, engines);
        }
    }

    PrimitiveResources get(CompositePrimitive primitive) {
        PrimitiveResources resource = resources.get(primitive.descriptor());
        if (resource == null) {
            throw new IllegalStateException("The handle is closed");
        }
        return resource;
    }

    /** Returns the number of resources. */
    int count() {
        return resources.size();
    }

    @Override
    public void close() {
        try (Closer all = new Closer()) {
            resources.values().forEach(resource -> all.add(resource::close));
            resources.clear();
        }
    }
}
