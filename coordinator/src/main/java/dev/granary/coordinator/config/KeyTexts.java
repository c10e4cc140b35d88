package dev.granary.coordinator.config;

import dev.granary.cache.format.EntrySignature;
import dev.granary.cache.format.EntrySigner;
import dev.granary.coordinator.toml.SafeText;

import java.io.IOException;
import java.nio.charset.CharacterCodingException;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermission;
import java.security.GeneralSecurityException;
import java.security.KeyFactory;
import java.security.KeyPair;
import java.security.KeyPairGenerator;
import java.security.PublicKey;
import java.security.spec.PKCS8EncodedKeySpec;
import java.security.spec.X509EncodedKeySpec;
import java.util.Base64;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Texts of keys for signatures: {@code NAME:KEY} for a public key, {@code NAME:private:KEY} for a
 * private one, and {@code NAME:revoked}. A key is the Base64 of its usual encoding (RFC 8410), as
 * in a PEM file. Messages show no key.
 */
public final class KeyTexts {
    private static final String PRIVATE = ":private:";
    private static final String REVOKED = "revoked";
    private static final Pattern BLANKS = Pattern.compile("[\\s,]+");
    private static final Pattern COMMENT = Pattern.compile("#.*");

    /** Begins each public and private key of Ed25519. */
    private static final Pattern TEXT =
            Pattern.compile("(" + EntrySignature.NAME + "):(private:|)(M[A-Za-z0-9+/]{40,}={0,2})");

    private static final Set<PosixFilePermission> CHANGES_BY_OTHERS =
            Set.of(PosixFilePermission.GROUP_WRITE, PosixFilePermission.OTHERS_WRITE);

    private static final Set<PosixFilePermission> ANY_BY_OTHERS = Set.of(
            PosixFilePermission.GROUP_READ,
            PosixFilePermission.GROUP_WRITE,
            PosixFilePermission.OTHERS_READ,
            PosixFilePermission.OTHERS_WRITE);

    private KeyTexts() {}

    /**
     * A new pair of keys.
     *
     * @param publicKey the text of the public key
     * @param privateKey the text of the private key
     */
    public record Pair(String publicKey, String privateKey) {
        @Override
        public String toString() {
            return publicKey;
        }
    }

    /** Returns the line of a name that counts no more. */
    public static String revocation(String name) throws ConfigException {
        return checkedName(name) + ":" + REVOKED;
    }

    private static String checkedName(String name) throws ConfigException {
        if (!EntrySignature.NAME.matcher(name).matches()) {
            throw new ConfigException("The name of a key has at most 63 lower-case letters, digits,"
                    + " - _ . and begins with a letter or digit; " + SafeText.of(name)
                    + " is none.");
        }
        return name;
    }

    /**
     * Returns the lines of a file that has public keys.
     *
     * @param place the place of the name of the file, for messages
     */
    public static String lines(Path file, String place) throws ConfigException {
        String lines = read(file.toString(), place, CHANGES_BY_OTHERS);
        if (parsed(lines, place).isEmpty()) {
            throw new ConfigException(place + " " + file + " has no public key.");
        }
        return lines;
    }

    /** Creates a pair of keys with this name. */
    public static Pair create(String name) throws ConfigException {
        try {
            KeyPair pair =
                    KeyPairGenerator.getInstance(EntrySignature.ALGORITHM).generateKeyPair();
            Base64.Encoder base64 = Base64.getEncoder();
            return new Pair(
                    checkedName(name) + ":"
                            + base64.encodeToString(pair.getPublic().getEncoded()),
                    name + PRIVATE + base64.encodeToString(pair.getPrivate().getEncoded()));
        } catch (GeneralSecurityException e) {
            throw new IllegalStateException(e);
        }
    }

    /**
     * Returns the signer of a private key.
     *
     * @param text the text of the key, or the path of a file with it, which others may not read
     * @param place the place of the text, for messages
     */
    static EntrySigner signer(String text, String place) throws ConfigException {
        String key = text.contains(PRIVATE) ? text.strip() : read(text, place, ANY_BY_OTHERS);
        Matcher parts = TEXT.matcher(key);
        if (!parts.matches() || parts.group(2).isEmpty()) {
            throw new ConfigException(place + " is no private key, NAME:private:KEY, as granary"
                    + " keys --create NAME writes it.");
        }
        try {
            return new EntrySigner(
                    parts.group(1),
                    factory().generatePrivate(new PKCS8EncodedKeySpec(decoded(parts, place))));
        } catch (GeneralSecurityException | IllegalArgumentException e) {
            throw new ConfigException(place + " has a damaged private key.");
        }
    }

    /**
     * Returns public keys by name, in their order; empty for a name that was revoked.
     *
     * @param text the texts of keys, or the path of a file with one in each line, which others may
     *     not write
     * @param place the place of the text, for messages
     */
    static Map<String, Optional<PublicKey>> trusted(String text, String place)
            throws ConfigException {
        boolean isText = TEXT.matcher(BLANKS.split(text.strip(), 2)[0]).matches();
        return parsed(isText ? text : read(text, place, CHANGES_BY_OTHERS), place);
    }

    private static Map<String, Optional<PublicKey>> parsed(String lines, String place)
            throws ConfigException {
        Map<String, Optional<PublicKey>> keys = new LinkedHashMap<>();
        for (String each : BLANKS.split(COMMENT.matcher(lines).replaceAll("").strip())) {
            if (!each.isEmpty()) {
                add(each, keys, place);
            }
        }
        return keys;
    }

    private static void add(String text, Map<String, Optional<PublicKey>> keys, String place)
            throws ConfigException {
        String name = text.substring(0, Math.max(0, text.indexOf(':')));
        if (text.equals(name + ":" + REVOKED)) {
            keys.put(name, Optional.empty());
            return;
        }
        Matcher parts = TEXT.matcher(text);
        if (!parts.matches() || !parts.group(2).isEmpty()) {
            throw new ConfigException(place + " has a part that is no public key, NAME:KEY"
                    + (text.contains(PRIVATE) ? ", but a private one; replace that key" : "")
                    + ".");
        }
        try {
            PublicKey key = factory().generatePublic(new X509EncodedKeySpec(decoded(parts, place)));
            if (keys.getOrDefault(name, Optional.of(key)).isPresent()) { // else it stays revoked
                keys.put(name, Optional.of(key));
            }
        } catch (GeneralSecurityException e) {
            throw new ConfigException(place + " has a damaged key " + name + ".");
        }
    }

    private static KeyFactory factory() throws GeneralSecurityException {
        return KeyFactory.getInstance(EntrySignature.ALGORITHM);
    }

    private static byte[] decoded(Matcher parts, String place) throws ConfigException {
        try {
            return Base64.getDecoder().decode(parts.group(3));
        } catch (IllegalArgumentException e) {
            throw new ConfigException(place + " has a damaged key " + parts.group(1) + ".");
        }
    }

    /** Reads a file on whose content the trust in entries depends. */
    private static String read(String name, String place, Set<PosixFilePermission> forbidden)
            throws ConfigException {
        try {
            Path file = Path.of(name.strip());
            if (!Collections.disjoint(Files.getPosixFilePermissions(file), forbidden)) {
                throw new ConfigException(place + " is the file " + file
                        + ", to which others have access; run chmod 600 on it.");
            }
            return Files.readString(file).strip();
        } catch (InvalidPathException e) { // shown nowhere: it may be a key
            throw new ConfigException(place + " is neither a key nor the path of a file.");
        } catch (CharacterCodingException e) {
            throw new ConfigException(place + " is a file that is no text.");
        } catch (IOException e) {
            throw new ConfigException(place + " is neither a key nor a file that can be read: "
                    + SafeText.inOneLine(e) + ".");
        }
    }
}
