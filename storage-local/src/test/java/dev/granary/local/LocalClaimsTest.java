package dev.granary.local;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.granary.cache.Id;
import dev.granary.cache.contract.TestEntries;
import dev.granary.local.ClaimResult.Mine;
import dev.granary.local.ClaimResult.Taken;
import dev.granary.local.ClaimResult.Unavailable;
import dev.granary.testing.Await;
import dev.granary.testing.InteractiveProcess;
import dev.granary.testing.SystemTool;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.Stream;

/** Tests of claims between threads and between real processes, and of unavailable claims. */
@Timeout(600)
final class LocalClaimsTest {
    private static final Id A = TestEntries.id("a");
    private static final Id B = TestEntries.id("b");
    private static final Taken TAKEN = new Taken();

    @TempDir
    private Path directory;

    private static Mine mine(ClaimResult result) {
        return assertInstanceOf(Mine.class, result);
    }

    @Test
    @DisplayName("one holder has the claim, another id is free, and closing releases it once")
    void oneHasIt() {
        try (LocalClaims one = LocalClaims.open(directory);
                LocalClaims two = LocalClaims.open(directory)) {
            Mine first = mine(one.claim(A));
            assertEquals(TAKEN, two.claim(A));
            assertEquals(TAKEN, one.claim(A), "nor does its own user get it twice");
            mine(two.claim(B)).close();
            first.close();
            Mine second = mine(two.claim(A));
            first.close();
            assertEquals(TAKEN, one.claim(A), "closing twice does not let go of another's");
            second.close();
            mine(one.claim(A)).close();
        }
    }

    @Test
    @DisplayName("a claim of another process is seen without claiming, and no file is created")
    void isClaimed() throws Exception {
        try (LocalClaims here = LocalClaims.open(directory)) {
            assertFalse(here.isClaimed(A));
            assertTrue(Files.notExists(directory.resolve("claims")));
            try (InteractiveProcess there = ClaimProcess.start(directory)) {
                assertEquals("mine", there.request("claim a"));
                assertTrue(here.isClaimed(A));
                assertFalse(here.isClaimed(B));
                there.request("close a");
                assertFalse(here.isClaimed(A));
                assertEquals("mine", there.request("claim a"), "it is still free");
                there.kill();
            }
            assertFalse(here.isClaimed(A));
            mine(here.claim(A)).close();
        }
    }

    @Test
    @DisplayName("the claims of a killed process are free, and nothing is left to clean up")
    void killed() throws Exception {
        try (LocalClaims here = LocalClaims.open(directory);
                InteractiveProcess there = ClaimProcess.start(directory)) {
            assertEquals("mine", there.request("claim a"));
            assertEquals("mine", there.request("claim b"));
            assertEquals(TAKEN, here.claim(A));
            there.kill();
            mine(here.claim(A)).close();
            mine(here.claim(B)).close();
        }
        assertEquals(0, Files.size(directory.resolve("claims")));
    }

    @Test
    @DisplayName("Closing one user's claims releases its own but no others, within and between"
            + " processes")
    void closeKeepsOthers() throws Exception {
        try (LocalClaims one = LocalClaims.open(directory);
                InteractiveProcess there = ClaimProcess.start(directory)) {
            LocalClaims two =
                    LocalClaims.open(directory.resolve("..").resolve(directory.getFileName()));
            mine(one.claim(A));
            Mine late = mine(two.claim(B));
            two.close();
            two.close();
            assertEquals(
                    "taken",
                    there.request("claim a"),
                    "the other user of the file keeps its claim");
            assertEquals("mine", there.request("claim b"));
            late.close();
            assertEquals(TAKEN, one.claim(B));
            assertInstanceOf(Unavailable.class, two.claim(A));
        }
    }

    @Test
    @DisplayName(
            "An interrupted thread claims and releases like any other, stays interrupted, and does"
                    + " not close the file for others")
    void interrupted() throws Exception {
        try (LocalClaims here = LocalClaims.open(directory);
                InteractiveProcess there = ClaimProcess.start(directory)) {
            Mine before = mine(here.claim(A));
            Thread.currentThread().interrupt();
            try {
                Mine held = mine(here.claim(B));
                assertEquals(TAKEN, here.claim(B));
                held.close();
                assertTrue(Thread.currentThread().isInterrupted());
            } finally {
                assertTrue(Thread.interrupted());
            }
            assertEquals("taken", there.request("claim a"));
            assertEquals("mine", there.request("claim b"));
            before.close();
            assertEquals("mine", there.request("claim a"));
        }
    }

    @Test
    @DisplayName("Claims that are closed during a claim release it, and leave no file open: its end"
            + " would release the locks of a later user")
    void closedDuringClaim() throws Exception {
        Path descriptors = Path.of("/proc/self/fd");
        assumeTrue(Files.isDirectory(descriptors), "there is no /proc with open files");
        Path path = directory.toRealPath().resolve("claims");
        LocalClaims claims = LocalClaims.open(directory);
        ClaimLockFile file = ClaimLockFile.share(path);
        Thread claiming = Thread.ofPlatform().daemon().unstarted(() -> claims.claim(A));
        Thread closing = Thread.ofPlatform().daemon().unstarted(claims::close);
        synchronized (file) { // the claim stops before it opens the file
            claiming.start();
            Await.holds(() -> claiming.getState() == Thread.State.BLOCKED);
            closing.start();
            Await.holds(() -> closing.getState() == Thread.State.BLOCKED || !closing.isAlive());
            file.release();
        }
        claiming.join();
        closing.join();
        try (Stream<Path> open = Files.list(descriptors)) {
            assertEquals(
                    0, open.filter(descriptor -> isLinkTo(path, descriptor)).count());
        }
    }

    private static boolean isLinkTo(Path file, Path link) {
        try {
            return Files.readSymbolicLink(link).equals(file);
        } catch (IOException e) {
            return false; // closed meanwhile
        }
    }

    @Test
    @DisplayName("of many threads, each a user of its own, one holds each claim at a time")
    void threads() throws Exception {
        int threads = 8;
        int[] inside = new int[1]; // guarded by the claim alone
        int rounds = 200;
        CountDownLatch go = new CountDownLatch(1);
        try (ExecutorService pool = Executors.newFixedThreadPool(threads)) {
            List<Future<Integer>> all = new ArrayList<>();
            for (int t = 0; t < threads; t++) {
                all.add(pool.submit(() -> {
                    go.await();
                    int worst = 0;
                    try (LocalClaims claims = LocalClaims.open(directory)) {
                        for (int done = 0; done < rounds; ) {
                            if (claims.claim(A) instanceof Mine held) {
                                worst = Math.max(worst, ++inside[0]);
                                inside[0]--;
                                done++;
                                held.close();
                            }
                        }
                    }
                    return worst;
                }));
            }
            go.countDown();
            for (Future<Integer> one : all) {
                assertEquals(1, one.get());
            }
        }
    }

    @Test
    @DisplayName(
            "The file is private and created at the first claim; if it is removed while in use, it"
                    + " is created again")
    void removed() throws Exception {
        Path file = directory.resolve("claims");
        try (LocalClaims one = LocalClaims.open(directory);
                LocalClaims two = LocalClaims.open(directory)) {
            assertFalse(Files.exists(file));
            Mine old = mine(one.claim(A));
            assertEquals(
                    "rw-------",
                    PosixFilePermissions.toString(Files.getPosixFilePermissions(file)));
            Files.delete(file);
            // its former holder is invisible: a cost, not an error
            Mine young = mine(two.claim(A));
            old.close();
            assertEquals(TAKEN, one.claim(A));
            young.close();
            mine(one.claim(A)).close();
        }
    }

    @Test
    @DisplayName("without a directory or permission, or with something other than a file:"
            + " unavailable, with a reason")
    void unavailable() throws Exception {
        Path missing = directory.resolve("missing");
        try (LocalClaims claims = LocalClaims.open(missing)) {
            assertReason(claims, "missing");
            Files.createDirectory(missing);
            mine(claims.claim(A)).close();
        }
        Path linked = Files.createDirectory(directory.resolve("linked"));
        Files.createSymbolicLink(linked.resolve("claims"), directory.resolve("elsewhere"));
        try (LocalClaims claims = LocalClaims.open(linked)) {
            assertReason(claims, "claims");
        }
        assertFalse(Files.exists(directory.resolve("elsewhere")));
        Path occupied = Files.createDirectories(directory.resolve("occupied/claims"));
        try (LocalClaims claims = LocalClaims.open(occupied.resolveSibling("."))) {
            assertReason(claims, "claims");
        }
    }

    @Test
    @DisplayName("a read-only disk: unavailable, with a reason")
    void readOnly() throws Exception {
        assumeTrue(
                "root".equals(System.getProperty("user.name")), "mounting a small disk needs root");
        assumeTrue(
                SystemTool.run(
                        "mount",
                        "-t",
                        "tmpfs",
                        "-o",
                        "ro,size=1m,mode=700",
                        "tmpfs",
                        directory.toString()),
                "nothing can be mounted here");
        try (LocalClaims claims = LocalClaims.open(directory)) {
            assertReason(claims, "Read-only file system");
        } finally {
            assertTrue(SystemTool.run("umount", "-l", directory.toString()));
        }
    }

    private static void assertReason(LocalClaims claims, String part) {
        String reason = assertInstanceOf(Unavailable.class, claims.claim(A)).reason();
        assertTrue(reason.contains(part), reason);
    }
}
