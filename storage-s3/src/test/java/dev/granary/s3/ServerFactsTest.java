package dev.granary.s3;

import dev.granary.s3.contract.ServerFacts;
import dev.granary.s3.contract.TestS3;

/** The facts of the server of the tests. */
class ServerFactsTest extends ServerFacts {
    ServerFactsTest() {
        super(TestS3.server());
    }
}
