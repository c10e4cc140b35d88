package dev.granary.s3.config;

import static org.junit.jupiter.api.Assertions.assertEquals;

import static java.nio.charset.StandardCharsets.UTF_8;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;

/** Tests of the search for a source of credentials. */
class CredentialSourcesTest {
    private final Map<String, String> variables = new HashMap<>();
    private final Map<String, String> properties = new HashMap<>();
    private final Path home;

    CredentialSourcesTest(@TempDir Path home) {
        this.home = home;
        variables.put("AWS_EC2_METADATA_DISABLED", "true");
        variables.put("HOME", home.toString());
        properties.put("user.home", home.resolve("other").toString());
    }

    private void check(boolean expected) {
        assertEquals(
                expected, new CredentialSources(variables::get, properties::get).isAnyPresent());
    }

    @Test
    @DisplayName("An empty home without variables has no source")
    void none() {
        check(false);
        variables.remove("AWS_EC2_METADATA_DISABLED");
        properties.put("aws.disableEc2Metadata", "true");
        check(false);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "AWS_ACCESS_KEY_ID",
                "AWS_WEB_IDENTITY_TOKEN_FILE",
                "AWS_PROFILE",
                "AWS_CONTAINER_CREDENTIALS_FULL_URI",
                "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
                "AWS_SHARED_CREDENTIALS_FILE",
                "AWS_CONFIG_FILE"
            })
    @DisplayName("Each variable of the SDK's chain is a source")
    void variables(String name) {
        variables.put(name, "x");
        check(true);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "aws.accessKeyId",
                "aws.webIdentityTokenFile",
                "aws.profile",
                "aws.containerCredentialsFullUri",
                "aws.containerCredentialsPath",
                "aws.sharedCredentialsFile",
                "aws.configFile"
            })
    @DisplayName("Each system property of the SDK's chain is a source")
    void properties(String name) {
        properties.put(name, "x");
        check(true);
    }

    @ParameterizedTest
    @ValueSource(strings = {"credentials", "config"})
    @DisplayName("A file of profiles is a source, in either home")
    void files(String name) throws IOException {
        for (Path either : new Path[] {home, home.resolve("other")}) {
            Path file = either.resolve(".aws").resolve(name);
            Files.createDirectories(either.resolve(".aws"));
            Files.writeString(file, "[default]", UTF_8);
            check(true);
            Files.delete(file);
            check(false);
        }
    }

    @Test
    @DisplayName("A configured metadata service is a source, unless it is disabled")
    void metadata() {
        variables.put("AWS_EC2_METADATA_SERVICE_ENDPOINT", "http://127.0.0.1:1");
        check(false);
        variables.remove("AWS_EC2_METADATA_DISABLED");
        check(true);
    }
}
