package dev.granary.coordinator.recording;

import dev.granary.coordinator.observe.Counters;

import java.io.IOException;
import java.nio.file.Path;

/**
 * A process that records kernels, and finishes as at its exit. Arguments: the file, a prefix of the
 * names, the number of kernels, and {@code wait} for a process that waits to be killed. It prints a
 * line for each kernel, which may be unwritten then.
 */
final class RecordingProcess {
    private RecordingProcess() {}

    static void main(String[] arguments) throws IOException {
        KernelRecorder recorder = new KernelRecorder(Path.of(arguments[0]), new Counters());
        for (int i = 0; i < Integer.parseInt(arguments[2]); i++) {
            recorder.record(RecordedSample.kernel(arguments[1] + i));
            System.out.println(i);
        }
        if (arguments.length > 3) {
            System.in.read();
        }
        recorder.finish();
    }
}
