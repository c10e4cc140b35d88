package dev.granary.gpu.binary;

import static java.nio.charset.StandardCharsets.US_ASCII;

import dev.granary.gpu.binary.BinaryContainer.Pocl;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.List;

/** A writer of small containers in PoCL's format, for lengths and names that no driver writes. */
final class PoclBinaryWriter {
    private final ByteBuffer out = ByteBuffer.allocate(4096).order(ByteOrder.LITTLE_ENDIAN);

    private PoclBinaryWriter() {}

    /** Returns a container of one kernel with one argument, and a file of each of these names. */
    static byte[] binary(String build, int version, String rootFile, String kernelFile) {
        PoclBinaryWriter writer = new PoclBinaryWriter();
        writer.out.put("poclbin\0".getBytes(US_ASCII));
        writer.out.putLong(Pocl.hash(build)).putInt(version).putInt(1);
        writer.out.putLong(4L << 32).putInt(1).put(new byte[41]);
        byte[] files = writer.files(rootFile);
        writer.out.putLong(files.length).put(files);
        writer.kernel(kernelFile);
        return Arrays.copyOf(writer.out.array(), writer.out.position());
    }

    private byte[] files(String name) {
        ByteBuffer file = ByteBuffer.allocate(1024).order(ByteOrder.LITTLE_ENDIAN);
        for (String text : List.of(name, "content of " + name)) {
            file.putInt(text.length()).put(text.getBytes(US_ASCII));
        }
        return Arrays.copyOf(file.array(), file.position());
    }

    private void kernel(String fileName) {
        int start = out.position();
        out.putLong(0).putLong(0).putInt(0);
        text("scale");
        out.putInt(1).putInt(1); // arguments, local arguments
        out.putLong(0).putLong(0).putLong(0); // required size of a work-group
        out.putLong(64); // local size
        text("");
        out.putLong(31); // flags
        int arguments = out.position();
        out.putInt(1).putInt(2).putLong(0).putInt(3).putInt(8);
        text("in");
        text("float*");
        int argumentBytes = out.position() - arguments;
        byte[] files = files(fileName);
        out.put(files);
        out.putLong(start, out.position() - start);
        out.putLong(start + 8, files.length);
        out.putInt(start + 16, argumentBytes);
    }

    private void text(String text) {
        out.putInt(text.length()).put(text.getBytes(US_ASCII));
    }
}
