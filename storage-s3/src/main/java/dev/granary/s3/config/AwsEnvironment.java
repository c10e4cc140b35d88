package dev.granary.s3.config;

import dev.granary.s3.store.ConnectionSettings;
import dev.granary.s3.store.MissingCredentialsException;
import dev.granary.s3.store.SecretRedactor;

import software.amazon.awssdk.auth.credentials.AwsBasicCredentials;
import software.amazon.awssdk.auth.credentials.AwsCredentials;
import software.amazon.awssdk.auth.credentials.AwsCredentialsProvider;
import software.amazon.awssdk.auth.credentials.AwsSessionCredentials;
import software.amazon.awssdk.auth.credentials.DefaultCredentialsProvider;
import software.amazon.awssdk.auth.credentials.StaticCredentialsProvider;
import software.amazon.awssdk.core.exception.SdkClientException;
import software.amazon.awssdk.regions.Region;
import software.amazon.awssdk.regions.providers.DefaultAwsRegionProviderChain;

/**
 * Region and credentials from the environment, profiles or the machine, as the AWS SDK finds them.
 * Both transports use it for settings that a connection leaves empty.
 */
public final class AwsEnvironment {
    private AwsEnvironment() {}

    /**
     * Returns the region that requests are signed for.
     *
     * @throws IllegalStateException if there is none; the message states the remedy
     */
    public static Region region(ConnectionSettings connection) {
        if (connection.region().isPresent()) {
            return Region.of(connection.region().get());
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

    /**
     * Returns the credentials; they throw {@link MissingCredentialsException} at the first
     * signature if none are found.
     */
    public static AwsCredentialsProvider credentials(ConnectionSettings connection) {
        return new RedactedProvider(connection
                .credentials()
                .<AwsCredentialsProvider>map(fixed -> StaticCredentialsProvider.create(
                        AwsBasicCredentials.create(fixed.accessKey(), fixed.secretKey())))
                .orElseGet(() ->
                        new DefaultChain(DefaultCredentialsProvider.builder().build())));
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

    /** The SDK's default chain, with an exception of ours if it finds nothing. */
    private record DefaultChain(DefaultCredentialsProvider chain)
            implements AwsCredentialsProvider {
        @Override
        public AwsCredentials resolveCredentials() {
            try {
                return chain.resolveCredentials();
            } catch (SdkClientException e) {
                throw new MissingCredentialsException(e);
            }
        }
    }
}
