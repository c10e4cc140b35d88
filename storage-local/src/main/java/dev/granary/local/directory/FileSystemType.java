package dev.granary.local.directory;

import java.io.IOException;
import java.nio.file.FileStore;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Locale;
import java.util.Set;

/**
 * Type of the file system of a directory, as the operating system names it. Immutable.
 *
 * @param name such as {@code ext4}, {@code nfs4} or {@code fuse.sshfs}; {@code unknown} if the
 *     system does not report it
 * @param source the mounted source, such as {@code /dev/sda1} or {@code server:/export}; may
 *     contain secrets, so it must not be in messages
 */
public record FileSystemType(String name, String source) {
    private static final FileSystemType UNKNOWN = new FileSystemType("unknown", "");
    private static final String AUTOMATIC = "autofs";
    private static final String FUSE = "fuse.";

    /**
     * File systems that another kernel shares: other machines, or the host of a virtual machine by
     * a protocol without coherent writable mappings. Cluster file systems are included although
     * they have locks between machines: atomic changes of mapped memory are not atomic between
     * machines on any of them. Names after {@code fuse.} are listed without that prefix.
     */
    private static final Set<String> NETWORK = Set.of(
            // protocols between a client and a server
            "nfs",
            "nfs3",
            "nfs4",
            "cifs",
            "smb",
            "smb2",
            "smb3",
            "smbfs",
            "ncp",
            "ncpfs",
            "afs",
            "afpfs",
            "coda",
            "9p",
            "webdav",
            "davfs",
            "davfs2",
            "ftp",
            "ftpfs",
            "curlftpfs",
            "sshfs",
            "unc",
            "gvfsd-fuse",
            "kio-fuse",
            // parallel and cluster file systems
            "ceph",
            "cephfs",
            "ceph-fuse",
            "glusterfs",
            "lustre",
            "lustre_lite",
            "beegfs",
            "beegfs_nodev",
            "gpfs",
            "mmfs",
            "pvfs2",
            "orangefs",
            "panfs",
            "wekafs",
            "gfs",
            "gfs2",
            "ocfs2",
            "acfs",
            "mfs",
            "mfsmount",
            "moosefs",
            "lizardfs",
            "juicefs",
            "quobyte",
            "hdfs",
            "fuse_dfs",
            "alluxio",
            "alluxio-fuse",
            "dbfs",
            "cvmfs2",
            // buckets seen as directories
            "s3fs",
            "s3ql",
            "rclone",
            "rclonefs",
            "gcsfuse",
            "goofys",
            "geesefs",
            "mountpoint-s3",
            "mount-s3",
            "blobfuse",
            "blobfuse2",
            "ossfs",
            "cosfs",
            "obsfs",
            "seaweedfs",
            "objectivefs",
            "yas3fs",
            // folders of a virtual machine's host, by protocols without coherent shared mappings
            "vboxsf",
            "vmhgfs",
            "vmhgfs-fuse",
            "prl_fs",
            "prl_fsd",
            "osxfs",
            "grpcfuse");

    /** Names of FUSE file systems that do not reveal their kind; the source does then. */
    private static final Set<String> UNNAMED_FUSE = Set.of("fuse", "osxfuse", "macfuse", "fusefs");

    /** Returns the type of the file system of an existing path; links are followed. */
    public static FileSystemType of(Path existing) {
        try {
            Path real = existing.toRealPath();
            if (real.getRoot() != null && real.getRoot().toString().startsWith("\\\\")) {
                // Windows reports the type of the server's disk, also for a mapped drive
                return new FileSystemType("unc", "");
            }
            FileSystemType type = storeOf(real);
            return type == UNKNOWN || type.name().equals(AUTOMATIC)
                    ? MountTable.find(real).orElse(type)
                    : type;
        } catch (IOException | SecurityException e) {
            return UNKNOWN; // for example in a chroot without /proc
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
     * Returns whether other machines can share this file system. False for file systems of one
     * machine's kernel: disks, memory, overlays, disks through FUSE ({@code fuseblk},
     * {@code fuse.fuse-overlayfs}), and {@code virtiofs}, which is coherent within one guest.
     */
    public boolean isNetwork() {
        String kind = name.toLowerCase(Locale.ROOT);
        if (UNNAMED_FUSE.contains(kind)) {
            return NETWORK.contains(source.toLowerCase(Locale.ROOT)) || isRemoteAddress(source);
        }
        return NETWORK.contains(kind.startsWith(FUSE) ? kind.substring(FUSE.length()) : kind);
    }

    /**
     * Returns whether the source is an address such as {@code https://host/} or
     * {@code user@host:/directory}; a local source is a path or a word.
     */
    private static boolean isRemoteAddress(String source) {
        return !source.startsWith("/") && source.indexOf(':') > 0;
    }
}
