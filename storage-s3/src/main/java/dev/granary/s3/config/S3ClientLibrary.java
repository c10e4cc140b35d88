package dev.granary.s3.config;

/** Client library for S3 requests. */
public enum S3ClientLibrary {
    /** The AWS SDK for Java 2. */
    AWS,
    /**
     * The MinIO client, an optional dependency: a program that uses it adds {@code io.minio:minio}
     * and {@code com.squareup.okhttp3:okhttp-jvm}.
     */
    MINIO;

    /** Returns true if the classes of the library are present. */
    public boolean isPresent() {
        return switch (this) {
            case AWS -> true;
            case MINIO -> isPresent("io.minio.MinioClient") && isPresent("okhttp3.OkHttpClient");
        };
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
