package dev.granary.cli.operation;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.granary.cache.format.EntrySignature;
import dev.granary.cli.option.CommandFailedException;
import dev.granary.cli.option.OutputCommand;
import dev.granary.cli.output.Report;
import dev.granary.cli.output.ReportTable;
import dev.granary.coordinator.config.ConfigException;
import dev.granary.coordinator.config.GranaryConfig;
import dev.granary.coordinator.config.GranaryConfigBuilder;
import dev.granary.coordinator.config.KeyTexts;

import org.jspecify.annotations.Nullable;

import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.PublicKey;
import java.util.Base64;
import java.util.Map;
import java.util.Optional;

/** {@code granary keys}: the keys that sign entries. */
@Command(
        name = "keys",
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
    public Integer call() throws Exception {
        GranaryConfigBuilder builder = GranaryConfig.builder();
        Report report = report();
        if (created != null) {
            create(checked("--create", created), report);
            report.print();
            return 0;
        }
        if (trusted != null) {
            String text = Files.isReadable(trusted) ? Files.readString(trusted, UTF_8) : "";
            if (KeyTexts.trusted(trusted.toString(), "--trust").isEmpty()) {
                throw new ConfigException("--trust " + trusted + " has no public key");
            }
            append(builder, text.strip());
        }
        if (revoked != null) {
            append(builder, checked("--revoke", revoked) + ":revoked");
        }
        GranaryConfig config = builder.offline().build();
        ReportTable table = report.table("keys", "name", "state", "<public key:key");
        for (Map.Entry<String, Optional<PublicKey>> key : config.trustedKeys().entrySet()) {
            table.row(
                    key.getKey(),
                    key.getValue().isPresent() ? "trusted" : "revoked",
                    key.getValue()
                            .map(each -> Base64.getEncoder().encodeToString(each.getEncoded()))
                            .orElse(""));
        }
        report.field("signs as:signer", config.signer().map(signer -> signer.name()));
        report.print();
        return 0;
    }

    private static String checked(String option, String name) throws ConfigException {
        if (!EntrySignature.NAME.matcher(name).matches()) {
            throw new ConfigException(option + ": the name of a key has at most 63 lower-case"
                    + " letters, digits, - _ . and begins with a letter or digit");
        }
        return name;
    }

    private void create(String name, Report report) throws CommandFailedException {
        KeyTexts.Pair pair = KeyTexts.create(name);
        Path secret = out.resolve(name + ".key");
        Path open = out.resolve(name + ".pub");
        try {
            Files.createFile(secret, ownerOnly());
            Files.writeString(secret, pair.privateKey() + "\n");
            Files.writeString(open, pair.publicKey() + "\n", StandardOpenOption.CREATE_NEW);
        } catch (IOException e) {
            throw new CommandFailedException("no key was created: " + e);
        }
        report.field("private key:privateKey", secret.toString())
                .field("public key:publicKey", open.toString())
                .line("Sign with GRANARY_SIGNING_KEY=" + secret + ", and give " + open
                        + " to the readers: granary keys --trust " + open);
    }

    private static FileAttribute<?>[] ownerOnly() {
        return Path.of("").getFileSystem().supportedFileAttributeViews().contains("posix")
                ? new FileAttribute<?>[] {
                    PosixFilePermissions.asFileAttribute(
                            PosixFilePermissions.fromString("rw-------"))
                }
                : new FileAttribute<?>[0];
    }

    /** Adds lines to the usual file of trusted keys, which only its owner may change. */
    private static void append(GranaryConfigBuilder builder, String lines)
            throws ConfigException, CommandFailedException {
        Path file = builder.trustedKeysFile()
                .orElseThrow(() -> new CommandFailedException(
                        "you have no home for a file of trusted keys; set GRANARY_TRUSTED_KEYS"));
        try {
            Files.createDirectories(file.resolveSibling("."));
            if (Files.notExists(file)) {
                Files.createFile(file, ownerOnly());
            }
            Files.writeString(file, lines + "\n", StandardOpenOption.APPEND);
        } catch (IOException e) {
            throw new CommandFailedException(file + " cannot be written: " + e);
        }
    }
}
