package dev.granary.s3;

import java.io.IOException;

/** Sources of credentials of programs that depend on {@code granary-client-aws} alone. */
class AwsCredentialSourcesTest extends CredentialSourcesContract {
    AwsCredentialSourcesTest() throws IOException {}
}
