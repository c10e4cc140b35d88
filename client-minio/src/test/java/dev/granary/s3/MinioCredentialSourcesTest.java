package dev.granary.s3;

import org.junit.jupiter.api.Tag;

import java.io.IOException;

/**
 * Sources of credentials of programs that depend on {@code granary-client-minio} alone. The code is
 * the same for both clients; only the class path differs.
 */
@Tag("exhaustive")
class MinioCredentialSourcesTest extends CredentialSourcesContract {
    MinioCredentialSourcesTest() throws IOException {}
}
