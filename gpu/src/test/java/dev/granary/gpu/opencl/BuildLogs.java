package dev.granary.gpu.opencl;

import dev.granary.gpu.opencl.binding.ClBinding;

import java.util.List;

/** Build logs of PoCL. */
public final class BuildLogs {
    private BuildLogs() {}

    /** Builds a program, and returns what the compiler says of it. */
    public static String of(String source) {
        ClBinding binding = ClBinding.LIBRARY;
        try (LwjglContext context = LwjglContext.inOrder()) {
            long program =
                    binding.programs().createProgramWithSource(context.context, List.of(source));
            try {
                binding.programs().buildProgram(program, context.device, "");
                return binding.programs().buildLog(program, context.device);
            } finally {
                binding.programs().releaseProgram(program);
            }
        }
    }
}
