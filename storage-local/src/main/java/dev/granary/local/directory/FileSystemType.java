package dev.granary.local.directory;

import java.io.IOException;
import java.nio.file.FileStore;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Locale;
import java.util.Set;

/**
 * The type of the file system that a directory lies on, as the operating system names it. Immutable.
 *
 * @param name such as {@code ext4}, {@code nfs4} or {@code fuse.sshfs}; {@code unknown} where the system does not tell
 * @param source what is mounted, such as {@code /dev/sda1} or {@code server:/export}; may hold what is not for messages
 */
public record FileSystemType(String name, String source) {
    private static final FileSystemType UNKNOWN = new FileSystemType("unknown", "");
    private static final String AUTOMATIC = "autofs";
    private static final String FUSE = "fuse.";

    /**
     * File systems of which another kernel holds a part: other machines, or the host of a virtual machine by a protocol that gives no
     * coherent writable mappings. Cluster file systems are among them although they have locks between machines: an atomic change of mapped
     * memory is none between machines on any of them. A name after {@code fuse.} stands here without that prefix.
     */
    private static final Set<String> NETWORK = Set.of(
            // protocols between a client and a server
            "nfs", "nfs3", "nfs4", "cifs", "smb", "smb2", "smb3", "smbfs", "ncp", "ncpfs", "afs", "afpfs", "coda", "9p", "webdav", "davfs",
            "davfs2", "ftp", "ftpfs", "curlftpfs", "sshfs", "unc", "gvfsd-fuse", "kio-fuse",
            // parallel and cluster file systems
            "ceph", "cephfs", "ceph-fuse", "glusterfs", "lustre", "lustre_lite", "beegfs", "beegfs_nodev", "gpfs", "mmfs", "pvfs2", "orangefs",
            "panfs", "wekafs", "gfs", "gfs2", "ocfs2", "acfs", "mfs", "mfsmount", "moosefs", "lizardfs", "juicefs", "quobyte", "hdfs",
            "fuse_dfs", "alluxio", "alluxio-fuse", "dbfs", "cvmfs2",
            // buckets seen as directories
            "s3fs", "s3ql", "rclone", "rclonefs", "gcsfuse", "goofys", "geesefs", "mountpoint-s3", "mount-s3", "blobfuse", "blobfuse2", "ossfs",
            "cosfs", "obsfs", "seaweedfs", "objectivefs", "yas3fs",
            // folders of a virtual machine's host, by protocols without coherent shared mappings
            "vboxsf", "vmhgfs", "vmhgfs-fuse", "prl_fs", "prl_fsd", "osxfs", "grpcfuse");

    /** What a file system in user space is called that does not tell its kind; then its source tells. */
    private static final Set<String> UNNAMED_FUSE = Set.of("fuse", "osxfuse", "macfuse", "fusefs");

    /** The type of the file system of something that exists; links are followed. */
    public static FileSystemType of(Path existing) {
        try {
            Path real = existing.toRealPath();
            if (real.getRoot() != null && real.getRoot().toString().startsWith("\\\\")) {
                return new FileSystemType("unc", ""); // Windows tells the type of the server's disk, also for a mapped drive
            }
            FileSystemType type = storeOf(real);
            return type == UNKNOWN || type.name().equals(AUTOMATIC) ? MountTable.find(real).orElse(type) : type;
        } catch (IOException | SecurityException e) {
            return UNKNOWN; // such as in a root directory of its own, without /proc
        }
    }

    private static FileSystemType storeOf(Path real) {
        try {
            FileStore store = Files.getFileStore(real);
            return new FileSystemType(store.type(), store.name());
        } catch (IOException e) {
            return UNKNOWN; // "Mount point not found", in some containers
        }
    }

    /**
     * True where other machines can have a part in this file system. False for those of one machine's kernel: disks, memory, overlays, disks
     * through FUSE ({@code fuseblk}, {@code fuse.fuse-overlayfs}), and {@code virtiofs}, which is coherent within one guest.
     */
    public boolean isNetwork() {
        String kind = name.toLowerCase(Locale.ROOT);
        if (UNNAMED_FUSE.contains(kind)) {
            return NETWORK.contains(source.toLowerCase(Locale.ROOT)) || isRemoteAddress(source);
        }
        return NETWORK.contains(kind.startsWith(FUSE) ? kind.substring(FUSE.length()) : kind);
    }

    /** An address such as {@code https://host/} or {@code user@host:/directory}; a local source is a path or a word. */
    private static boolean isRemoteAddress(String source) {
        return !source.startsWith("/") && source.indexOf(':') > 0;
    }
}
