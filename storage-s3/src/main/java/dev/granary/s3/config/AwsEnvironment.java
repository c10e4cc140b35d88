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

/** What a connection leaves open and the AWS SDK finds in the environment, in profiles, or on the machine: the same for both transports. */
public final class AwsEnvironment {
    private AwsEnvironment() {}

    /**
     * The region that requests are signed for.
     *
     * @throws IllegalStateException if there is none, with what to do
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
            throw new IllegalStateException("No region for bucket " + connection.bucket()
                    + ": set AWS_REGION or the region of the bucket, or an endpoint for a server that is not Amazon's", e);
        }
    }

    /** Who asks; {@link MissingCredentialsException} when a request is to be signed and nobody said it. */
    public static AwsCredentialsProvider credentials(ConnectionSettings connection) {
        return new Noted(connection.credentials()
                .<AwsCredentialsProvider>map(known ->
                        StaticCredentialsProvider.create(AwsBasicCredentials.create(known.accessKey(), known.secretKey())))
                .orElseGet(() -> new Chain(DefaultCredentialsProvider.builder().build())));
    }

    /** Credentials whose secrets never get into a message. */
    private record Noted(AwsCredentialsProvider found) implements AwsCredentialsProvider {
        @Override
        public AwsCredentials resolveCredentials() {
            AwsCredentials now = found.resolveCredentials();
            SecretRedactor.note(now.secretAccessKey());
            SecretRedactor.note(now instanceof AwsSessionCredentials session ? session.sessionToken() : null);
            return now;
        }
    }

    /** The SDK's usual chain, with an exception of its own where it ends without a result. */
    private record Chain(DefaultCredentialsProvider chain) implements AwsCredentialsProvider {
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
