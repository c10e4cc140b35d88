package dev.granary.s3;

import java.io.IOException;

/** Sources of credentials of programs that depend on {@code granary-client-minio} alone. */
class MinioCredentialSourcesTest extends CredentialSourcesContract {
    MinioCredentialSourcesTest() throws IOException {}
}
