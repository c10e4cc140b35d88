package dev.granary.s3;

import dev.granary.s3.contract.KnownServer;
import dev.granary.s3.contract.ScriptedServer;
import dev.granary.s3.contract.ServerFacts;

/**
 * The facts of OpenStack Swift with s3api, which refuses conditional writes; needs its packages.
 */
class SwiftFactsTest extends ServerFacts {
    SwiftFactsTest() {
        super(ScriptedServer.of(KnownServer.SWIFT));
    }
}
