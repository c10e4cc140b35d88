package dev.granary.coordinator.publish;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/** The name of the producer of an entry. */
class ProducerNameTest {
    @Test
    @DisplayName("N7 any process of this host is one of this host, and no other name is")
    void host() {
        String own = ProducerName.name();
        String host = own.substring(0, own.lastIndexOf('/'));
        assertTrue(ProducerName.isOfThisHost(own));
        assertTrue(ProducerName.isOfThisHost(host + "/1"));
        assertFalse(ProducerName.isOfThisHost("x" + own));
        assertFalse(ProducerName.isOfThisHost(host + "x/1"));
        assertFalse(ProducerName.isOfThisHost(host));
        assertFalse(ProducerName.isOfThisHost(host + "/other/1"));
        assertFalse(ProducerName.isOfThisHost(""));
    }
}
