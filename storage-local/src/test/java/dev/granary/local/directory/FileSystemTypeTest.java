package dev.granary.local.directory;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.StringReader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import java.util.OptionalInt;

/** Tests of the classification of network file systems, and of parsing the system's tables. */
final class FileSystemTypeTest {
    private static final String MOUNTS = """
        22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw
        30 22 0:26 / /mnt/with\\040blank rw shared:2 master:1 - nfs4 server:/a\\040b rw,vers=4.2

        of no use
        31 22 0:x / /bad rw - nfs4 server:/bad rw
        41 22 0:39 / /auto rw,relatime - autofs systemd-1 rw,fd=5
        42 41 0:40 / /auto rw,nosuid - fuse.sshfs host:/src
        43 22 259:1048577 / /big rw - xfs /dev/nvme9n1 rw
        """;

    @ParameterizedTest
    @ValueSource(
            strings = {
                "nfs",
                "nfs4",
                "NFS",
                "cifs",
                "smb3",
                "smbfs",
                "ncpfs",
                "9p",
                "ceph",
                "glusterfs",
                "lustre",
                "beegfs",
                "gpfs",
                "afs",
                "afpfs",
                "webdav",
                "davfs",
                "coda",
                "orangefs",
                "ocfs2",
                "gfs2",
                "vboxsf",
                "unc",
                "fuse.sshfs",
                "fuse.s3fs",
                "fuse.rclone",
                "fuse.gcsfuse",
                "fuse.glusterfs",
                "fuse.ceph",
                "fuse.cephfs",
                "fuse.ceph-fuse",
                "fuse.juicefs",
                "fuse.blobfuse2",
                "fuse.gvfsd-fuse",
                "fuse.vmhgfs-fuse"
            })
    @DisplayName("A file system that another kernel shares is a network one")
    void network(String type) {
        assertTrue(new FileSystemType(type, "").isNetwork());
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "ext4",
                "ext3",
                "xfs",
                "btrfs",
                "zfs",
                "f2fs",
                "bcachefs",
                "tmpfs",
                "ramfs",
                "overlay",
                "aufs",
                "fuseblk",
                "virtiofs",
                "vfat",
                "exfat",
                "ntfs3",
                "erofs",
                "squashfs",
                "ecryptfs",
                "fuse.fuse-overlayfs",
                "fuse.gocryptfs",
                "fuse.bindfs",
                "fuse.mergerfs",
                "apfs",
                "hfs",
                "NTFS",
                "ReFS",
                "FAT32",
                "autofs",
                "unknown",
                "fuse."
            })
    @DisplayName(
            "A file system of this machine alone is not a network one, with or without FUSE; nor"
                    + " is an unknown type")
    void local(String type) {
        assertFalse(new FileSystemType(type, "/dev/sda1").isNetwork());
    }

    @ParameterizedTest
    @CsvSource({
        "fuse, mountpoint-s3, true",
        "fuse, https://dav.example/files, true",
        "osxfuse, user@host:/home, true",
        "macfuse, s3fs, true",
        "fuse, /dev/sdb1, false",
        "fuse, /a:b, false",
        "macfuse, encfs, false",
        "ext4, user@host:/home, false"
    })
    @DisplayName("A FUSE file system that does not name its kind is identified by its source")
    void unnamed(String type, String source, boolean isNetwork) {
        assertEquals(isNetwork, new FileSystemType(type, source).isNetwork());
    }

    @Test
    @DisplayName("The mount table is searched by device number; malformed lines are skipped")
    void mountTable() throws IOException {
        assertEquals(Optional.of(new FileSystemType("ext4", "/dev/vda")), find(254 << 8));
        assertEquals(Optional.of(new FileSystemType("nfs4", "server:/a\\040b")), find(26));
        assertEquals(Optional.of(new FileSystemType("autofs", "systemd-1")), find(39));
        assertEquals(Optional.of(new FileSystemType("fuse.sshfs", "host:/src")), find(40));
        assertEquals(
                Optional.of(new FileSystemType("xfs", "/dev/nvme9n1")),
                find(0x1_0001_0301L),
                "minor 1048577");
        assertEquals(Optional.empty(), find(99));
    }

    private static Optional<FileSystemType> find(long device) throws IOException {
        return MountTable.find(new BufferedReader(new StringReader(MOUNTS)), device);
    }

    @Test
    @DisplayName("If there is a mount table, it and Java name the same type for this directory")
    void realTable(@TempDir Path directory) throws IOException {
        FileSystemType type = FileSystemType.of(directory);
        assertEquals(Files.getFileStore(directory).type(), type.name());
        MountTable.find(directory).ifPresent(found -> assertEquals(type.name(), found.name()));
        assertEquals("unknown", FileSystemType.of(directory.resolve("missing")).name());
    }

    @Test
    @DisplayName("The user that the kernel checks is the effective one")
    void effectiveUser() throws IOException {
        assertEquals(
                OptionalInt.of(1001),
                user("Name:\tjava\nUid:\t1000\t1001\t1000\t1000\nGid:\t1\t2\t3\t4\n"));
        assertEquals(OptionalInt.of(-2), user("Uid:\t0\t4294967294\t0\t0\n"));
        assertEquals(OptionalInt.empty(), user("Name:\tjava\n"));
    }

    private static OptionalInt user(String status) throws IOException {
        return OwnerCheck.effectiveUser(new BufferedReader(new StringReader(status)));
    }
}
