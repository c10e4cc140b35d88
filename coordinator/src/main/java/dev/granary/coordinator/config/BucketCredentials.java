package dev.granary.coordinator.config;

import java.util.Optional;

/**
 * Credentials for buckets. {@link #toString} shows the access key only.
 *
 * @param accessKey the public part
 * @param secretKey the secret part
 * @param sessionToken the token of temporary credentials
 */
public record BucketCredentials(String accessKey, String secretKey, Optional<String> sessionToken) {
    @Override
    public String toString() {
        return "BucketCredentials[" + accessKey + ", secrets not shown]";
    }
}
