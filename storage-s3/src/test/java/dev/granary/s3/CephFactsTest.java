package dev.granary.s3;

import dev.granary.s3.contract.KnownServer;
import dev.granary.s3.contract.ScriptedServer;
import dev.granary.s3.contract.ServerFacts;

/** The facts of Ceph's object gateway; needs its packages. */
class CephFactsTest extends ServerFacts {
    CephFactsTest() {
        super(ScriptedServer.of(KnownServer.CEPH));
    }
}
