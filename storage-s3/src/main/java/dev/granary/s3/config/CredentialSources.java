package dev.granary.s3.config;

import dev.granary.s3.store.ConnectionOption;
import dev.granary.s3.store.ConnectionSettings;
import dev.granary.s3.store.MissingCredentialsException;

import org.jspecify.annotations.Nullable;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Objects;
import java.util.Optional;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;

/**
 * Search for a source of credentials without the client's classes, whose loading takes longer than
 * a kernel. It reads no credentials; whether a source has some is for {@link AwsEnvironment}.
 */
public final class CredentialSources {
    private static final String METADATA = "169.254.169.254";
    private static final int METADATA_TIMEOUT_MILLIS = 1000; // of the SDK
    private static final int HTTP = 80;

    private final UnaryOperator<@Nullable String> variables;
    private final UnaryOperator<@Nullable String> properties;

    /** Creates a search in environment variables and system properties, by name. */
    CredentialSources(
            UnaryOperator<@Nullable String> variables, UnaryOperator<@Nullable String> properties) {
        this.variables = variables;
        this.properties = properties;
    }

    /**
     * Returns the reason why requests of a connection cannot be signed; empty if there may be
     * credentials. Connects to the metadata service of Amazon's machines if nothing else is there.
     */
    public static Optional<String> obstacle(ConnectionSettings connection) {
        return connection.isAnonymous()
                        || connection.option(ConnectionOption.PROFILE).isPresent()
                        || connection.credentials().isPresent()
                        || new CredentialSources(System::getenv, System::getProperty).isAnyPresent()
                ? Optional.empty()
                : Optional.ofNullable(new MissingCredentialsException("", null).getMessage());
    }

    boolean isAnyPresent() {
        return isSet(
                        properties,
                        "aws.accessKeyId",
                        "aws.webIdentityTokenFile",
                        "aws.profile",
                        "aws.containerCredentialsFullUri",
                        "aws.containerCredentialsPath")
                || isSet(
                        variables,
                        "AWS_ACCESS_KEY_ID",
                        "AWS_WEB_IDENTITY_TOKEN_FILE",
                        "AWS_PROFILE",
                        "AWS_CONTAINER_CREDENTIALS_FULL_URI",
                        "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI")
                || isFile("AWS_SHARED_CREDENTIALS_FILE", "aws.sharedCredentialsFile", "credentials")
                || isFile("AWS_CONFIG_FILE", "aws.configFile", "config")
                || isOnAmazonMachine();
    }

    private static boolean isSet(UnaryOperator<@Nullable String> values, String... names) {
        return Stream.of(names).map(values).anyMatch(Objects::nonNull);
    }

    private boolean isFile(String variable, String property, String name) {
        return isSet(variables, variable)
                || isSet(properties, property)
                || Stream.of(variables.apply("HOME"), properties.apply("user.home"))
                        .filter(Objects::nonNull)
                        .anyMatch(home -> Files.exists(Path.of(home, ".aws", name)));
    }

    private boolean isOnAmazonMachine() {
        if ("true".equalsIgnoreCase(variables.apply("AWS_EC2_METADATA_DISABLED"))
                || "true".equalsIgnoreCase(properties.apply("aws.disableEc2Metadata"))) {
            return false;
        }
        if (isSet(variables, "AWS_EC2_METADATA_SERVICE_ENDPOINT")
                || isSet(properties, "aws.ec2MetadataServiceEndpoint")) {
            return true;
        }
        try (Socket socket = new Socket()) {
            socket.connect(new InetSocketAddress(METADATA, HTTP), METADATA_TIMEOUT_MILLIS);
            return true;
        } catch (IOException e) {
            return false;
        }
    }
}
