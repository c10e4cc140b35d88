package dev.granary.s3.config;

/**
 * Client library for S3 requests. A program that uses buckets adds the artifact of one:
 * {@code granary-client-aws} or {@code granary-client-minio}.
 */
public enum S3ClientLibrary {
    /** The AWS SDK for Java 2. */
    AWS(
            "granary-client-aws",
            "software.amazon.awssdk.services.s3.S3Client",
            "software.amazon.awssdk.http.apache5.Apache5HttpClient"),
    /** The MinIO client, with credentials and regions from the AWS SDK's chain. */
    MINIO(
            "granary-client-minio",
            "io.minio.MinioClient",
            "okhttp3.OkHttpClient",
            "software.amazon.awssdk.auth.credentials.DefaultCredentialsProvider");

    private final String artifact;
    private final String[] classNames;

    S3ClientLibrary(String artifact, String... classNames) {
        this.artifact = artifact;
        this.classNames = classNames;
    }

    /** Returns the Maven artifact that brings the library, as {@code group:artifact}. */
    public String artifact() {
        return "dev.granary:" + artifact;
    }

    /** Returns true if the classes of the library are present. */
    public boolean isPresent() {
        for (String className : classNames) {
            if (!isPresent(className)) {
                return false;
            }
        }
        return true;
    }

    private static boolean isPresent(String className) {
        try {
            Class.forName(className, false, S3ClientLibrary.class.getClassLoader());
            return true;
        } catch (ClassNotFoundException | LinkageError e) {
            return false;
        }
    }
}
