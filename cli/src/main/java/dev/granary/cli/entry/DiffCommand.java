package dev.granary.cli.entry;

import dev.granary.cache.Id;
import dev.granary.cli.command.TierCommand;
import dev.granary.cli.key.IdArgument;
import dev.granary.cli.key.KeyDifference;
import dev.granary.cli.option.DeviceOption;
import dev.granary.cli.option.TierOption;
import dev.granary.cli.output.JsonOutput;
import dev.granary.cli.output.TextTable;

import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Parameters;

import java.io.PrintWriter;
import java.util.List;

/** {@code granary diff}: names the fields in which two ids differ. */
@Command(
        name = "diff",
        mixinStandardHelpOptions = true,
        description = {
            "Name the fields in which two ids differ.",
            "A and B are the first digits of an id, a file with an entry, or MANIFEST#KERNEL."
        })
public final class DiffCommand extends TierCommand {
    @Parameters(index = "0", paramLabel = "A", description = "the first id")
    private String a = "";

    @Parameters(index = "1", paramLabel = "B", description = "the second id")
    private String b = "";

    @Mixin
    private TierOption tier = new TierOption();

    @Mixin
    private DeviceOption device = new DeviceOption();

    @Override
    public Integer call() throws Exception {
        IdArgument argument = new IdArgument(() -> tier.open(stores()), device);
        Id first = argument.resolve(a);
        Id second = argument.resolve(b);
        List<KeyDifference> differences = KeyDifference.between(first, second);
        PrintWriter out = out();
        if (isJson()) {
            JsonOutput.print(
                    out,
                    JsonOutput.object(
                            "a",
                            first.hash().hex(),
                            "b",
                            second.hash().hex(),
                            "equal",
                            first.equals(second),
                            "differences",
                            ExplanationJson.differences(differences)));
            return 0;
        }
        out.println("A  " + first.hash());
        out.println("B  " + second.hash());
        if (first.equals(second)) {
            out.println("The ids are equal.");
        } else {
            TextTable table = new TextTable("field", "<A", "<B");
            differences.forEach(difference ->
                    table.row(difference.field(), difference.shortA(), difference.shortB()));
            table.print(out);
        }
        out.flush();
        return 0;
    }
}
