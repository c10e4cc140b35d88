package dev.granary.coordinator;

import org.junit.jupiter.api.extension.AfterEachCallback;
import org.junit.jupiter.api.extension.BeforeEachCallback;
import org.junit.jupiter.api.extension.ExtensionContext;

/** Gives each test credentials that no server looks at, so that a client sends its requests. */
public final class NobodysCredentials implements BeforeEachCallback, AfterEachCallback {
    /** Used by JUnit. */
    public NobodysCredentials() {}

    @Override
    public void beforeEach(ExtensionContext context) {
        System.setProperty("aws.accessKeyId", "nobody");
        System.setProperty("aws.secretAccessKey", "nothing");
    }

    @Override
    public void afterEach(ExtensionContext context) {
        System.clearProperty("aws.accessKeyId");
        System.clearProperty("aws.secretAccessKey");
    }
}
