/**
 * The domain of Granary: ids, targets, entries and their format, the store interface, and the
 * in-memory caches.
 *
 * <p>This is the lowest module. It depends on no store's client library and on no driver.
 */
@SuppressWarnings("module") // the modules named in qualified exports are built later
module dev.granary.cache {
    requires static transitive org.jspecify;
    requires com.esotericsoftware.kryo;
    requires com.github.luben.zstd_jni;
    requires org.slf4j;

    exports dev.granary.cache;
    exports dev.granary.cache.constant;
    exports dev.granary.cache.format;
    exports dev.granary.cache.memory;
    exports dev.granary.cache.support to
            dev.granary.cli,
            dev.granary.coordinator,
            dev.granary.gpu,
            dev.granary.local,
            dev.granary.s3,
            dev.granary.plans,
            dev.granary.wrap;
}
