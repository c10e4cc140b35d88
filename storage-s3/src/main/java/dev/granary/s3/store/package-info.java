/**
 * Object stores: the operations on an S3 bucket as an interface, and their results as sealed types.
 */
@NullMarked
package dev.granary.s3.store;

import org.jspecify.annotations.NullMarked;
