package dev.granary.coordinator.config;

/** Which client library talks to the bucket. */
public enum TransportClient {
    /** The AWS SDK for Java, version 2. */
    AWS,
    /** The MinIO client. */
    MINIO;

    static TransportClient parse(String text) {
        return switch (text) {
            case "aws" -> AWS;
            case "minio" -> MINIO;
            default -> throw new IllegalArgumentException(text);
        };
    }
}
