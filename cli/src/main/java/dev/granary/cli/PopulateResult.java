package dev.granary.cli;

import com.google.gson.JsonObject;
import dev.granary.cache.Id;
import dev.granary.cli.output.JsonOutput;
import dev.granary.cli.output.ProgressLine;
import dev.granary.cli.output.Units;
import dev.granary.coordinator.admin.ReadbackVerifier;
import dev.granary.coordinator.config.BucketConfig;
import dev.granary.coordinator.config.ConfigException;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;

/** The state of the bucket after {@code populate}: for each kernel that was had, whether the bucket has it, too. Not thread-safe. */
final class PopulateResult {
    private final BucketConfig target;
    private final int uploadLimit;
    private final PublishResults published;
    private final Set<Id> wanted = new LinkedHashSet<>();
    private final Set<Id> pending = new LinkedHashSet<>();
    private final Set<Id> toReadBack = new LinkedHashSet<>();
    private final Map<String, String> notCacheable = new TreeMap<>();
    private Map<Id, String> unreadable = Map.of();

    PopulateResult(BucketConfig target, int uploadLimit, PublishResults published, KernelRunner run) {
        this.target = target;
        this.uploadLimit = uploadLimit;
        this.published = published;
        for (KernelRunner.Result.Got got : run.got()) {
            Id id = got.descriptor().getId();
            if (id.isEmpty()) {
                notCacheable.put(got.name(), id.reason());
            } else {
                wanted.add(id);
            }
        }
        for (Id id : wanted) {
            switch (published.state(id)) {
                case DONE -> toReadBack.add(id);
                case FAILED -> {}
                case UNANSWERED -> pending.add(id);
            }
        }
        // What came from a bucket was not published by this process; reading it back tells.
        run.got().stream().filter(got -> got.layer().isPresent()).map(got -> got.descriptor().getId()).forEach(id -> {
            if (pending.remove(id)) {
                toReadBack.add(id);
            }
        });
    }

    /** What the bucket should have. */
    Set<Id> toReadBack() {
        return toReadBack;
    }

    void readBack(ReadbackVerifier readback, ProgressLine progress) throws ConfigException, InterruptedException {
        unreadable = readback.unreadable(toReadBack, read -> progress.passing(Units.count(read) + " of " + Units.count(toReadBack.size())));
    }

    /** True where every kernel that was had can be read from the bucket. */
    boolean isWhole() {
        return notCacheable.isEmpty() && pending.isEmpty() && unreadable.isEmpty() && toReadBack.size() == wanted.size();
    }

    /** Such as {@code s3://kernels/team-a: 3 published, 2 there already, 0 failed}. */
    String summary() {
        return target.location() + ": " + published.stored() + " published, " + published.present() + " there already, " + published.failed() + " failed"
                + (pending.isEmpty() ? "" : ", " + pending.size() + " pending")
                + (unreadable.isEmpty() ? "" : ", " + unreadable.size() + " of them cannot be read");
    }

    JsonObject json() {
        return JsonOutput.object("stored", published.stored(), "present", published.present(), "failed", published.failed(), "pending", pending.size(),
                "unreadable", unreadable.size(), "notCacheable", notCacheable.size(), "readBack", toReadBack.size() - unreadable.size());
    }

    /** Says what is not in the bucket, why, and what to do: each cause once, with an example. */
    void complain(PrintWriter err, Path directory) {
        published.causes().forEach((cause, id) -> err.println("granary: not published: " + id + ": " + cause));
        if (!pending.isEmpty()) {
            err.println("granary: not published: " + Units.plural(pending.size(), "entry") + ": no answer from " + target.name() + " within " + uploadLimit
                    + " s (--upload-limit)");
        }
        Map<String, Id> examples = new TreeMap<>();
        unreadable.forEach((id, cause) -> examples.putIfAbsent(cause, id));
        examples.forEach((cause, id) -> err.println("granary: published, but cannot be read back: " + id + ": " + cause));
        notCacheable.forEach((kernel, reason) -> err.println("granary: never in a bucket: " + kernel + ": " + reason));
        if (toReadBack.size() < wanted.size() || !unreadable.isEmpty()) {
            err.println("granary: all kernels that compiled are in " + directory + "; remove the cause and populate again, which"
                    + " uploads them without compiling.");
        }
        err.flush();
    }
}
