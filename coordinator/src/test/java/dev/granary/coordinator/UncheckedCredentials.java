package dev.granary.coordinator;

import org.junit.jupiter.api.extension.AfterEachCallback;
import org.junit.jupiter.api.extension.BeforeEachCallback;
import org.junit.jupiter.api.extension.ExtensionContext;

/**
 * Extension that sets credentials for each test, so that clients send requests; the test servers do
 * not check them.
 */
public final class UncheckedCredentials implements BeforeEachCallback, AfterEachCallback {
    /** Creates the extension; called by JUnit. */
    public UncheckedCredentials() {}

    @Override
    public void beforeEach(ExtensionContext context) {
        System.setProperty("aws.accessKeyId", "unchecked");
        System.setProperty("aws.secretAccessKey", "unchecked");
    }

    @Override
    public void afterEach(ExtensionContext context) {
        System.clearProperty("aws.accessKeyId");
        System.clearProperty("aws.secretAccessKey");
    }
}
