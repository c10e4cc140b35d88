package dev.granary.local;

import static dev.granary.testing.CacheAssertions.assertThat;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.granary.cache.Id;
import dev.granary.cache.PersistentCache;
import dev.granary.cache.contract.ClaimStoreContract;
import dev.granary.cache.contract.TestEntries;
import dev.granary.cache.format.TrustPolicy;
import dev.granary.cache.support.ClaimStore;
import dev.granary.cache.support.ClaimStore.Claim;
import dev.granary.cache.support.ClaimStore.Result;
import dev.granary.testing.SystemTool;

import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Optional;

/** Contract suite of claims, run on a shared directory, and tests of its files. */
final class SharedClaimsTest extends ClaimStoreContract {
    private static final Id ID = TestEntries.id("claimed");
    private static final Claim ONE =
            new Claim("0000000000000001", Duration.ZERO, Claim.State.COMPILING);
    private static final Claim OTHER =
            new Claim("0000000000000002", Duration.ZERO, Claim.State.COMPILING);

    @TempDir
    private Path temporary;

    @Override
    protected PersistentCache openCache() {
        return new SharedDirectory(temporary.resolve("some/cache"), true, TrustPolicy.OFF);
    }

    @Override
    protected ClaimStore claims(PersistentCache opened) {
        return ((SharedDirectory) opened).claims();
    }

    private ClaimStore claims() {
        return claims(openCache());
    }

    private Path file() {
        String hash = ID.hash().hex();
        return temporary.resolve(
                "some/cache/shared-claims/" + hash.substring(0, 2) + "/" + hash + ".1");
    }

    @Test
    @DisplayName("A claim is one file; nothing else remains of claims, takeovers and failures")
    void files() throws Exception {
        Result.Mine mine = assertInstanceOf(Result.Mine.class, claims().claim(ID, ONE));
        Result.Taken taken = assertInstanceOf(Result.Taken.class, claims().claim(ID, OTHER));
        claims().takeOver(ID, taken, OTHER);
        claims().fail(ID, mine, ONE);
        try (var files = Files.list(file().getParent())) {
            assertEquals(
                    List.of(file(), file().resolveSibling(ID.hash().hex() + ".2")),
                    files.sorted().toList());
        }
    }

    @Test
    @DisplayName("The age is the difference of two dates of the file system, never negative")
    void ages() throws Exception {
        claims().claim(ID, ONE);
        Files.setLastModifiedTime(file(), FileTime.from(Instant.now().minusSeconds(3600)));
        Result.Taken old = assertInstanceOf(Result.Taken.class, claims().claim(ID, OTHER));
        assertEquals(60, old.age().orElseThrow().plusSeconds(30).toMinutes());
        Files.setLastModifiedTime(file(), FileTime.from(Instant.now().plusSeconds(3600)));
        Result.Taken later = assertInstanceOf(Result.Taken.class, claims().claim(ID, OTHER));
        assertEquals(Optional.of(Duration.ZERO), later.age());
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "no claim", "claim 1\n", "pipe", "directory"})
    @Timeout(60) // opening a pipe blocks
    @DisplayName("Anything in the place of a claim makes it unavailable")
    void damaged(String content) throws Exception {
        Files.createDirectories(file().getParent());
        switch (content) {
            case "pipe" ->
                Assumptions.assumeTrue(SystemTool.run("mkfifo", file().toString()), "no mkfifo");
            case "directory" -> Files.createDirectory(file());
            default -> Files.writeString(file(), content, UTF_8);
        }
        assertInstanceOf(Result.Unavailable.class, claims().claim(ID, ONE));
        assertInstanceOf(Result.Unavailable.class, claims().read(ID));
    }

    @Test
    @DisplayName("A directory that cannot be created makes claims unavailable")
    void noDirectory() throws Exception {
        Files.writeString(temporary.resolve("some"), "in the way");
        assertInstanceOf(Result.Unavailable.class, claims().claim(ID, ONE));
        assertInstanceOf(Result.Unavailable.class, claims().read(ID));
        assertThat(claims().poll(ID)).isAbsent();
        claims().fail(ID, new Result.Mine("1"), ONE);
    }

    @Test
    @DisplayName("Reading a claim in a missing directory creates nothing")
    void missing() {
        assertInstanceOf(Result.Unavailable.class, claims().read(ID));
        assertFalse(Files.exists(temporary.resolve("some")));
    }
}
