/**
 * The contract suite of object stores, and the test server; other modules use them from the test
 * jar.
 */
@NullMarked
package dev.granary.s3.contract;

import org.jspecify.annotations.NullMarked;
