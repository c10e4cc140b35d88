package dev.granary.cli.compiler;

import dev.granary.cache.Target;
import dev.granary.gpu.Geometry;
import dev.granary.gpu.KernelDescriptor;

import java.lang.foreign.ValueLayout;
import java.util.Base64;
import java.util.List;
import java.util.Map;

/**
 * The inputs of a compile, for another process. It has the texts and no paths, so that the process
 * compiles what the id was computed of, even if a file changes meanwhile.
 *
 * @param spirv the module in place of sources, in Base64; empty if there is none
 */
record ProgramMessage(
        String name,
        List<String> sources,
        String spirv,
        Map<String, String> headers,
        List<String> includeDirectories,
        List<String> options,
        List<String> entries,
        List<LaunchMessage> launches) {
    /**
     * The extra digest of each descriptor in a compiler process, which makes it cacheable. Only the
     * sender decides that, and no id leaves the process.
     */
    private static final String DIGEST = "decided by the sender";

    /** A launch that the binaries cover. */
    record LaunchMessage(String kernel, List<Long> global, List<Long> local) {}

    static ProgramMessage of(KernelDescriptor descriptor) {
        return new ProgramMessage(
                descriptor.name(),
                descriptor.sources(),
                descriptor
                        .spirv()
                        .map(module -> Base64.getEncoder()
                                .encodeToString(module.toArray(ValueLayout.JAVA_BYTE)))
                        .orElse(""),
                descriptor.headers(),
                descriptor.includeDirectories(),
                descriptor.optionTokens(),
                List.copyOf(descriptor.entries()),
                descriptor.launches().stream()
                        .map(launch -> new LaunchMessage(
                                launch.kernel(),
                                launch.geometry().global(),
                                launch.geometry().local()))
                        .toList());
    }

    /** Returns a descriptor that compiles to the same binary; its id is not the sender's. */
    KernelDescriptor descriptor(Target target) {
        KernelDescriptor.Builder builder =
                KernelDescriptor.builder(target, name).options(options).extraDigest(DIGEST);
        sources.forEach(builder::source);
        if (!spirv.isEmpty()) {
            builder.spirv(Base64.getDecoder().decode(spirv));
        }
        headers.forEach(builder::header);
        includeDirectories.forEach(builder::includeDirectory);
        entries.forEach(builder::entry);
        launches.forEach(launch ->
                builder.launch(launch.kernel(), new Geometry(launch.global(), launch.local())));
        return builder.build();
    }
}
