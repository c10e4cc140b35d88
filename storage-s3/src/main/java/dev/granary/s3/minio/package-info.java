/** The transport through the MinIO client. */
@NullMarked
package dev.granary.s3.minio;

import org.jspecify.annotations.NullMarked;
