package dev.granary.gpu.trial;

import dev.granary.cache.KernelBinaries;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;

/**
 * The input of a trial, from one process of this version to another.
 *
 * @param target the path of the target
 * @param kernels the names of the kernels to create; empty: all
 * @param binaries the binaries to restore
 */
record TrialInput(String target, List<String> kernels, KernelBinaries binaries) {
    TrialInput {
        kernels = List.copyOf(kernels);
    }

    byte[] encode() throws IOException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        DataOutputStream out = new DataOutputStream(bytes);
        out.writeUTF(target);
        out.writeInt(kernels.size());
        for (String kernel : kernels) {
            out.writeUTF(kernel);
        }
        out.writeInt(binaries.count());
        for (byte[] binary : binaries.toByteArrays()) {
            out.writeInt(binary.length);
            out.write(binary);
        }
        return bytes.toByteArray();
    }

    static TrialInput decode(byte[] encoded) throws IOException {
        DataInputStream in = new DataInputStream(new ByteArrayInputStream(encoded));
        String target = in.readUTF();
        List<String> kernels = new ArrayList<>();
        for (int left = in.readInt(); left > 0; left--) {
            kernels.add(in.readUTF());
        }
        List<byte[]> binaries = new ArrayList<>();
        for (int left = in.readInt(); left > 0; left--) {
            binaries.add(in.readNBytes(in.readInt()));
        }
        return new TrialInput(target, kernels, KernelBinaries.of(binaries.toArray(byte[][]::new)));
    }
}
