package dev.granary.local;

import dev.granary.cache.Id;
import dev.granary.cache.LoadResult;
import dev.granary.cache.support.ClaimStore;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.BasicFileAttributes;
import java.time.Duration;
import java.util.Optional;
import java.util.function.Function;

/**
 * Claims in a shared directory, as files {@code shared-claims/<hh>/<hash>.<number>}. The claim with
 * the highest number counts. A takeover creates the next number, which one of several machines can
 * do; only its holder replaces a file. A file is linked to its name when it is complete.
 */
final class SharedClaims implements ClaimStore {
    /** The largest number of a claim that is read; more takeovers of one entry have a cause. */
    private static final int MAX_CLAIMS = 100;

    private static final int DIRECTORY_DIGITS = 2;

    private final Path root;
    private final Function<Id, LoadResult> entries;

    /**
     * Creates the claims in a directory, which need not exist.
     *
     * @param entries loads an entry of the directory
     */
    SharedClaims(Path directory, Function<Id, LoadResult> entries) {
        this.root = directory.resolve("shared-claims");
        this.entries = entries;
    }

    @Override
    public Result claim(Id id, Claim claim) {
        return create(id, claim, 1);
    }

    @Override
    public Result takeOver(Id id, Result.Taken old, Claim claim) {
        return create(id, claim, Integer.parseInt(old.version()) + 1);
    }

    /** Creates the claim of a number, or returns the last one of another machine. */
    private Result create(Id id, Claim claim, int number) {
        Path file = file(id, number);
        try {
            Files.createDirectories(file.getParent());
            Path written = write(file, claim);
            try {
                if (EntryFiles.link(written, file)) {
                    return new Result.Mine(Integer.toString(number));
                }
                Result seen = last(id, number, Optional.of(written));
                // a file server may report that the link exists after it has created it
                return seen instanceof Result.Taken taken
                                && taken.claim().nonce().equals(claim.nonce())
                        ? new Result.Mine(taken.version())
                        : seen;
            } finally {
                Files.deleteIfExists(written);
            }
        } catch (IOException e) {
            return new Result.Unavailable(e.toString());
        }
    }

    /** Writes a claim beside its place. */
    private static Path write(Path file, Claim claim) throws IOException {
        Path written = file.resolveSibling(file.getFileName() + "." + claim.nonce());
        return Files.write(written, claim.encode());
    }

    @Override
    public void fail(Id id, Result.Mine mine, Claim claim) {
        Path file = file(id, Integer.parseInt(mine.version()));
        try {
            Files.move(write(file, claim.failed()), file, StandardCopyOption.ATOMIC_MOVE);
        } catch (IOException e) {
            return; // the waits end by themselves
        }
    }

    @Override
    public Result read(Id id) {
        try {
            return last(id, 1, Optional.empty());
        } catch (IOException e) {
            return new Result.Unavailable(e.toString());
        }
    }

    @Override
    public LoadResult poll(Id id) {
        return entries.apply(id);
    }

    /**
     * Returns the claim with the highest number.
     *
     * @param now a file that was just written, whose date tells the age; without one it is unknown
     */
    private Result last(Id id, int from, Optional<Path> now) throws IOException {
        refresh(file(id, from));
        Result last = new Result.Unavailable("there is no claim");
        for (int number = from; number <= MAX_CLAIMS; number++) {
            try {
                last = read(file(id, number), now, Integer.toString(number));
            } catch (NoSuchFileException e) {
                return last;
            }
        }
        return new Result.Unavailable("the claim was taken over too often");
    }

    private static Result read(Path file, Optional<Path> now, String version) throws IOException {
        BasicFileAttributes attributes =
                Files.readAttributes(file, BasicFileAttributes.class, LinkOption.NOFOLLOW_LINKS);
        Optional<Claim> claim = Optional.empty();
        if (attributes.isRegularFile()) { // opening a pipe would wait for its writer
            try (InputStream in = Files.newInputStream(file, LinkOption.NOFOLLOW_LINKS)) {
                claim = Claim.decode(in.readNBytes(Claim.MAX_BYTES));
            }
        }
        if (claim.isEmpty()) {
            return new Result.Unavailable("the claim is damaged");
        }
        Optional<Duration> age = Optional.empty();
        if (now.isPresent()) {
            Duration since = Duration.between(
                    attributes.lastModifiedTime().toInstant(),
                    Files.getLastModifiedTime(now.get()).toInstant());
            age = Optional.of(since.isNegative() ? Duration.ZERO : since);
        }
        return new Result.Taken(claim.get(), age, version);
    }

    /** Opens the directory of a file: an NFS client then asks the server which files are there. */
    static void refresh(Path file) {
        try (DirectoryStream<Path> _ = Files.newDirectoryStream(file.getParent())) {
            return; // its files are not needed
        } catch (IOException e) {
            return; // the read that follows fails as well
        }
    }

    private Path file(Id id, int number) {
        String hash = id.hash().hex();
        return root.resolve(hash.substring(0, DIRECTORY_DIGITS) + "/" + hash + "." + number);
    }
}
