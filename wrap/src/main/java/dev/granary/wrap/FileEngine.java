package dev.granary.wrap;

import dev.granary.cache.BinaryKind;
import dev.granary.cache.CompileException;
import dev.granary.cache.Engine;
import dev.granary.cache.Id;
import dev.granary.cache.KernelBinaries;
import dev.granary.cache.Primitive;
import dev.granary.cache.PrimitiveDescriptor;
import dev.granary.cache.Target;

import java.io.IOException;
import java.time.Duration;
import java.util.concurrent.Callable;

/**
 * Engine whose compiler is the wrapped program: a compile reads the files that it has written.
 * Files are thus stored, signed and published like kernels.
 */
record FileEngine(Target target) implements Engine<FileEngine.Source, FileEngine.Files> {
    /** Files to be published: their id, and how they are read. */
    static final class Source implements PrimitiveDescriptor {
        private final Id id;
        private final String path;
        private final long bytes;
        private final Callable<FileGroup> reader;

        Source(Id id, String path, long bytes, Callable<FileGroup> reader) {
            this.id = id;
            this.path = path;
            this.bytes = bytes;
            this.reader = reader;
        }

        /** Returns the length of the files. */
        long bytes() {
            return bytes;
        }

        @Override
        public Id getId() {
            return id;
        }

        @Override
        public Target target() {
            return id.target();
        }

        @Override
        public String name() {
            return path;
        }

        @Override
        public boolean equals(Object other) {
            return other instanceof Source that && id.equals(that.id);
        }

        @Override
        public int hashCode() {
            return id.hashCode();
        }
    }

    /** Files in memory. */
    record Files(Source descriptor, KernelBinaries content, Origin origin) implements Primitive {
        @Override
        public KernelBinaries getBinaries(BinaryKind kind) {
            return kind == BinaryKind.KERNEL ? content : KernelBinaries.none();
        }

        @Override
        public Duration compileTime() {
            return Duration.ZERO; // only the tool knows it
        }
    }

    @Override
    public Files create(Source descriptor) throws CompileException {
        try {
            return new Files(
                    descriptor, descriptor.reader.call().binaries(), Primitive.Origin.COMPILED);
        } catch (IOException e) {
            throw new CompileException(descriptor.name(), String.valueOf(e.getMessage()));
        } catch (Exception e) { // a reader throws nothing else
            throw new IllegalStateException(e);
        }
    }

    @Override
    public Files create(Source descriptor, KernelBinaries binaries, BinaryKind kind) {
        return new Files(descriptor, binaries, Primitive.Origin.RESTORED);
    }

    @Override
    public void close() {}
}
