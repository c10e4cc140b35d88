package dev.granary.cli.operation;

import dev.granary.cli.command.TierCommand;
import dev.granary.cli.option.CommandFailedException;
import dev.granary.cli.option.TierOption;
import dev.granary.cli.option.UsageException;
import dev.granary.cli.output.Units;
import dev.granary.coordinator.admin.QuarantineInventory;
import dev.granary.coordinator.admin.SharedQuarantine;
import dev.granary.coordinator.config.BucketConfig;
import dev.granary.coordinator.config.GranaryConfig;
import dev.granary.coordinator.stores.LocalTierFactory;
import dev.granary.local.LocalTier;

import picocli.CommandLine.Mixin;

import java.io.IOException;
import java.time.InstantSource;
import java.util.Optional;

/** Base of the commands on the quarantine of this machine, or on the reports in a bucket. */
abstract class QuarantineTierCommand extends TierCommand {
    @Mixin
    private TierOption tier = new TierOption();

    @Override
    public final Integer call() throws Exception {
        check();
        Optional<BucketConfig> bucket = tier.bucket(stores());
        if (bucket.isPresent()) {
            try (SharedQuarantine shared = SharedQuarantine.open(bucket.get())) {
                run(shared);
            } catch (IOException e) {
                throw new CommandFailedException(bucket.get().name() + ": " + e.getMessage());
            }
        } else {
            GranaryConfig config = stores().config();
            try (LocalTier local = LocalTierFactory.openWithoutEviction(config);
                    QuarantineInventory inventory =
                            QuarantineInventory.open(local.directory(), InstantSource.system())) {
                run(inventory, local, config);
            } catch (IOException e) {
                throw new CommandFailedException(failureMessage() + ": " + e);
            }
        }
        out().flush();
        return 0;
    }

    /** Returns text such as {@code 2 entries} or, if there are plans, {@code 2 entries, 1 plan}. */
    static String count(int entries, int plans) {
        return Units.plural(entries, "entry")
                + (plans == 0 ? "" : ", " + Units.plural(plans, "plan"));
    }

    /** Rejects invalid parameters before anything is opened. */
    void check() throws UsageException {}

    /** Returns the message for a failed operation on files. */
    abstract String failureMessage();

    /** Runs the command on the quarantine of this machine. */
    abstract void run(QuarantineInventory inventory, LocalTier local, GranaryConfig config)
            throws IOException, CommandFailedException;

    /** Runs the command on the reports in a bucket. */
    abstract void run(SharedQuarantine shared) throws IOException, CommandFailedException;
}
