package dev.granary.cli.operation;

import dev.granary.cache.Sha256;
import dev.granary.cli.option.CommandFailedException;
import dev.granary.cli.option.IdPrefixConverter;
import dev.granary.cli.option.UsageException;

import picocli.CommandLine.Parameters;

import java.util.ArrayList;
import java.util.List;

/** The parameters that select entries in quarantine. */
final class QuarantineIds {
    @Parameters(
            paramLabel = "ID",
            arity = "0..*",
            description = "ids or their first digits; without any, all are selected")
    private List<String> ids = List.of();

    private final List<String> prefixes = new ArrayList<>();

    /** Parses the parameters, once. */
    void parse() throws UsageException {
        for (String id : ids) {
            prefixes.add(IdPrefixConverter.parse(id));
        }
    }

    /**
     * Checks that each parameter selects something.
     *
     * @param none the beginning of the message if one does not
     */
    void requireIn(List<Sha256> all, String none) throws CommandFailedException {
        for (String prefix : prefixes) {
            if (all.stream().noneMatch(id -> id.hex().startsWith(prefix))) {
                throw new CommandFailedException(none + " has an id that begins with " + prefix);
            }
        }
    }

    boolean isSelected(Sha256 id) {
        return prefixes.isEmpty() || prefixes.stream().anyMatch(id.hex()::startsWith);
    }
}
