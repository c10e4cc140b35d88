/** Settings of a bucket: location, client library, access, credentials of the environment. */
@NullMarked
package dev.granary.s3.config;

import org.jspecify.annotations.NullMarked;
