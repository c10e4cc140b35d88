/** The transport through the AWS SDK for Java, version 2. */
@NullMarked
package dev.granary.s3.aws;

import org.jspecify.annotations.NullMarked;
