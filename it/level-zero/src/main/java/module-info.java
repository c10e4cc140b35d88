/** A program with Level Zero alone. The file serves runs on the module path. */
module com.example.zero {
    requires dev.granary.coordinator;
}
