/** The contract suite of object stores, and the server that tests run against; other modules use them from the test jar. */
@NullMarked
package dev.granary.s3.contract;

import org.jspecify.annotations.NullMarked;
