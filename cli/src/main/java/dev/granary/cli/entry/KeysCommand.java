package dev.granary.cli.entry;

import dev.granary.cache.format.EntrySigner;
import dev.granary.cli.option.CommandFailedException;
import dev.granary.cli.option.OutputCommand;
import dev.granary.cli.output.Report;
import dev.granary.coordinator.config.ConfigException;
import dev.granary.coordinator.config.GranaryConfig;
import dev.granary.coordinator.config.GranaryConfigBuilder;
import dev.granary.coordinator.config.KeyTexts;

import org.jspecify.annotations.Nullable;

import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

import java.io.IOException;
import java.nio.file.CopyOption;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.Base64;
import java.util.Map;

/** {@code granary keys}: the keys that sign entries. */
@Command(
        description = "List the public keys whose signatures of entries may count here, and the key"
                + " that signs. They count where trust=require or trust=warn is set.")
public final class KeysCommand extends OutputCommand {
    @Option(
            names = "--create",
            paramLabel = "NAME",
            description = "create a pair of keys: NAME.key, which is secret, and NAME.pub")
    private @Nullable String created;

    @Option(
            names = "--out",
            paramLabel = "DIR",
            defaultValue = ".",
            description = "the directory for these two files (default: ${DEFAULT-VALUE})")
    private Path out = Path.of(".");

    @Option(
            names = "--trust",
            paramLabel = "FILE",
            description = "add the public keys of FILE to the trusted ones")
    private @Nullable Path trusted;

    @Option(
            names = "--revoke",
            paramLabel = "NAME",
            description = "trust the key NAME no more, whoever adds it again")
    private @Nullable String revoked;

    @Override
    protected boolean run(Report report) throws Exception {
        GranaryConfigBuilder builder = GranaryConfig.builder();
        if (created != null) {
            create(created, report);
            return true;
        }
        if (trusted != null) {
            add(builder, KeyTexts.lines(trusted, "--trust"));
        }
        if (revoked != null) {
            add(builder, KeyTexts.revocation(revoked));
        }
        GranaryConfig config = builder.offline().build();
        report.table("keys", config.trustedKeys().entrySet())
                .column("name", Map.Entry::getKey)
                .column("state", each -> each.getValue().isPresent() ? "trusted" : "revoked")
                .column("<public key:key", each -> each.getValue()
                        .map(key -> Base64.getEncoder().encodeToString(key.getEncoded()))
                        .orElse(""));
        report.field("signs as:signer", config.signer().map(EntrySigner::name));
        return true;
    }

    private void create(String name, Report report) throws ConfigException {
        KeyTexts.Pair pair = KeyTexts.create(name);
        Path secret = out.resolve(name + ".key");
        Path open = out.resolve(name + ".pub");
        try {
            Files.createDirectories(out);
            write(secret, pair.privateKey() + "\n");
            Files.writeString(open, pair.publicKey() + "\n");
        } catch (IOException e) {
            throw new CommandFailedException("no key was created: " + e);
        }
        report.field("private key:privateKey", secret.toString())
                .field("public key:publicKey", open.toString())
                .line("Sign with GRANARY_SIGNING_KEY=" + secret + ", and give " + open
                        + " to the readers: granary keys --trust " + open);
    }

    /** Adds lines to the usual file of trusted keys. */
    private static void add(GranaryConfigBuilder builder, String lines) throws ConfigException {
        Path file = builder.trustedKeysFile()
                .orElseThrow(() -> new CommandFailedException(
                        "you have no home for a file of trusted keys; set GRANARY_TRUSTED_KEYS"));
        try {
            Files.createDirectories(file.resolveSibling("."));
            String before = Files.exists(file) ? Files.readString(file) : "";
            write(file, before + lines + "\n", StandardCopyOption.REPLACE_EXISTING);
        } catch (IOException e) {
            throw new CommandFailedException(file + " cannot be written: " + e);
        }
    }

    /** Writes a file as a whole, which is its owner's only, as temporary files are. */
    private static void write(Path file, String text, CopyOption... options) throws IOException {
        Path written = Files.createTempFile(file.resolveSibling("."), "key", "");
        try {
            Files.writeString(written, text);
            Files.move(written, file, options);
        } finally {
            Files.deleteIfExists(written);
        }
    }
}
