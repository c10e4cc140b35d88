/** The bucket tier: entries in an S3-compatible bucket that a fleet shares. */
module dev.granary.s3 {
    requires transitive dev.granary.cache;
    requires org.slf4j;

}
