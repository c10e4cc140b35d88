package dev.granary.s3.config;

import dev.granary.s3.store.ConnectionOption;
import dev.granary.s3.store.ConnectionSettings;
import dev.granary.s3.store.MissingCredentialsException;
import dev.granary.s3.store.SecretRedactor;

import software.amazon.awssdk.auth.credentials.AnonymousCredentialsProvider;
import software.amazon.awssdk.auth.credentials.AwsBasicCredentials;
import software.amazon.awssdk.auth.credentials.AwsCredentials;
import software.amazon.awssdk.auth.credentials.AwsCredentialsProvider;
import software.amazon.awssdk.auth.credentials.AwsSessionCredentials;
import software.amazon.awssdk.auth.credentials.ContainerCredentialsProvider;
import software.amazon.awssdk.auth.credentials.EnvironmentVariableCredentialsProvider;
import software.amazon.awssdk.auth.credentials.InstanceProfileCredentialsProvider;
import software.amazon.awssdk.auth.credentials.ProfileCredentialsProvider;
import software.amazon.awssdk.auth.credentials.SystemPropertyCredentialsProvider;
import software.amazon.awssdk.auth.credentials.WebIdentityTokenFileCredentialsProvider;
import software.amazon.awssdk.core.SdkSystemSetting;
import software.amazon.awssdk.core.exception.SdkClientException;
import software.amazon.awssdk.profiles.Profile;
import software.amazon.awssdk.profiles.ProfileFile;
import software.amazon.awssdk.profiles.ProfileFileSystemSetting;
import software.amazon.awssdk.profiles.ProfileProperty;
import software.amazon.awssdk.regions.Region;
import software.amazon.awssdk.regions.providers.DefaultAwsRegionProviderChain;
import software.amazon.awssdk.utils.SystemSetting;

import java.io.IOException;
import java.util.List;
import java.util.Optional;
import java.util.StringJoiner;

/**
 * Region and credentials from the environment, profiles or the machine, as the AWS SDK finds them.
 * Both transports use it for settings that a connection leaves empty.
 */
public final class AwsEnvironment {
    private AwsEnvironment() {}

    /**
     * Returns the region that requests are signed for: that of the connection or its profile, else
     * the one that the AWS SDK's usual chain finds.
     *
     * @throws IllegalStateException if there is none, or no such profile; the message states the
     *     remedy
     */
    public static Region region(ConnectionSettings connection) {
        Optional<String> ofProfile = connection
                .option(ConnectionOption.PROFILE)
                .flatMap(name -> profile(name).property(ProfileProperty.REGION));
        if (connection.region().isPresent()) {
            return Region.of(connection.region().get());
        }
        if (ofProfile.isPresent()) {
            return Region.of(ofProfile.get());
        }
        if (connection.endpoint().isPresent()) {
            return Region.of(ConnectionSettings.ENDPOINT_REGION);
        }
        try {
            return DefaultAwsRegionProviderChain.builder().build().getRegion();
        } catch (SdkClientException e) {
            throw new IllegalStateException(
                    "No region for bucket " + connection.bucket()
                            + ": set AWS_REGION or the region of the bucket, or an endpoint for a"
                            + " server that is not Amazon's",
                    e);
        }
    }

    private static Profile profile(String name) {
        return ProfileFile.defaultProfileFile()
                .profile(name)
                .orElseThrow(() -> new IllegalStateException(
                        "There is no profile " + SecretRedactor.redact(name)
                                + " in the AWS configuration files: add it (aws configure"
                                + " --profile NAME), or correct profile= in the address of the"
                                + " bucket"));
    }

    /**
     * Returns the credentials; they throw {@link MissingCredentialsException} at the first
     * signature if none are found.
     */
    public static AwsCredentialsProvider credentials(ConnectionSettings connection) {
        if (connection.isAnonymous()) {
            return AnonymousCredentialsProvider.create();
        }
        return new RedactedProvider(connection
                .option(ConnectionOption.PROFILE)
                .<AwsCredentialsProvider>map(Chain::new)
                .or(() -> connection.credentials().map(source -> () -> of(source.get())))
                .orElseGet(Chain::new));
    }

    private static AwsCredentials of(ConnectionSettings.Credentials given) {
        return given.sessionToken()
                .<AwsCredentials>map(token ->
                        AwsSessionCredentials.create(given.accessKey(), given.secretKey(), token))
                .orElseGet(() -> AwsBasicCredentials.create(given.accessKey(), given.secretKey()));
    }

    /** Credentials whose secrets are redacted from all messages. */
    private record RedactedProvider(AwsCredentialsProvider provider)
            implements AwsCredentialsProvider {
        @Override
        public AwsCredentials resolveCredentials() {
            AwsCredentials credentials = provider.resolveCredentials();
            SecretRedactor.register(credentials.secretAccessKey());
            SecretRedactor.register(
                    credentials instanceof AwsSessionCredentials session
                            ? session.sessionToken()
                            : null);
            return credentials;
        }
    }

    /**
     * The sources of the SDK's default chain, in its order. The SDK's own reports the failures of
     * all sources alike; this one reports those of sources that are configured.
     */
    private static final class Chain implements AwsCredentialsProvider {
        private static final String NO_PROFILE =
                "Profile file contained no credentials for profile 'default'";

        private final List<Source> sources = List.of(
                new Source(SystemPropertyCredentialsProvider.create(), List.of()),
                new Source(
                        EnvironmentVariableCredentialsProvider.create(),
                        List.of(
                                SdkSystemSetting.AWS_ACCESS_KEY_ID,
                                SdkSystemSetting.AWS_SECRET_ACCESS_KEY)),
                new Source(
                        WebIdentityTokenFileCredentialsProvider.create(),
                        List.of(SdkSystemSetting.AWS_WEB_IDENTITY_TOKEN_FILE)),
                new Source(
                        ProfileCredentialsProvider.create(),
                        List.of(ProfileFileSystemSetting.AWS_PROFILE)),
                new Source(
                        ContainerCredentialsProvider.create(),
                        List.of(
                                SdkSystemSetting.AWS_CONTAINER_CREDENTIALS_FULL_URI,
                                SdkSystemSetting.AWS_CONTAINER_CREDENTIALS_RELATIVE_URI)),
                new Source(InstanceProfileCredentialsProvider.create(), List.of()));
        private volatile List<Source> used = sources;

        Chain() {}

        /** Creates a chain of one profile only. */
        Chain(String profile) {
            used = List.of(new Source(ProfileCredentialsProvider.create(profile), List.of()));
        }

        /** A source of credentials, and the settings of which any configures it. */
        private record Source(
                AwsCredentialsProvider provider, List<? extends SystemSetting> settings) {
            boolean explains(RuntimeException failure) {
                return settings.stream().anyMatch(set -> set.getStringValue().isPresent())
                        && !String.valueOf(failure.getMessage()).startsWith(NO_PROFILE);
            }
        }

        /** Once a source has had credentials, only that one is used, as in the SDK's chain. */
        @Override
        public AwsCredentials resolveCredentials() {
            StringJoiner causes = new StringJoiner("; ");
            RuntimeException last = null;
            for (Source source : used) {
                try {
                    AwsCredentials credentials = source.provider.resolveCredentials();
                    used = List.of(source);
                    return credentials;
                } catch (RuntimeException e) {
                    last = e;
                    if (used.size() == 1 || source.explains(e)) {
                        causes.add(cause(e));
                    }
                }
            }
            throw new MissingCredentialsException(causes.toString(), last);
        }

        /** The SDK's message has the endpoint of most failures, but not an unknown host or file. */
        private static String cause(RuntimeException failure) {
            Throwable root = failure;
            while (root.getCause() != null) {
                root = root.getCause();
            }
            String message = String.valueOf(failure.getMessage());
            return root instanceof IOException && !message.contains("" + root.getMessage())
                    ? root.getClass().getSimpleName() + ": " + root.getMessage()
                    : message;
        }
    }
}
