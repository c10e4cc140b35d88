/** One kernel. The file serves runs on the module path; on the class path it has no effect. */
module com.example.hello {
    requires dev.granary.coordinator;
    requires dev.granary.opencl.lwjgl;
}
