/**
 * The register of a target: one small object that names its packs, replaced by If-Match only.
 *
 * <p>{@code docs/bucket.md} describes its objects, decision 65 its rules.
 */
@NullMarked
package dev.granary.s3.register;

import org.jspecify.annotations.NullMarked;
