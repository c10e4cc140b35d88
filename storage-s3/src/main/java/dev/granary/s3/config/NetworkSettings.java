package dev.granary.s3.config;

import dev.granary.s3.store.ConnectionSettings;
import dev.granary.s3.store.SecretRedactor;

import org.jspecify.annotations.Nullable;

import software.amazon.awssdk.regions.PartitionMetadata;
import software.amazon.awssdk.regions.Region;

import java.io.IOException;
import java.io.InputStream;
import java.math.BigInteger;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Proxy;
import java.net.ProxySelector;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.security.cert.Certificate;
import java.security.cert.CertificateFactory;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;

import javax.net.ssl.TrustManagerFactory;
import javax.net.ssl.X509TrustManager;

/**
 * Proxy and trusted certificates of the connections to one server, from the environment. Both
 * transports take them from here, since their libraries read the environment differently or not at
 * all.
 *
 * @param proxy the HTTP proxy; empty for direct connections
 * @param trust the trust in the certificates of {@code AWS_CA_BUNDLE}; empty for those of the JVM,
 *     and without TLS
 */
public record NetworkSettings(Optional<HttpProxy> proxy, Optional<X509TrustManager> trust) {
    private static final int DEFAULT_PROXY_PORT = 80;

    /** Parsed last, since a file of 140 certificates takes longer than a request. */
    private static @Nullable Bundle parsed;

    /**
     * An HTTP proxy. {@link #toString} omits user and password.
     *
     * @param address the unresolved address
     * @param user the user name; empty if the proxy requires none
     * @param password the password
     */
    public record HttpProxy(InetSocketAddress address, String user, String password) {
        @Override
        public String toString() {
            return "http://" + address.getHostString() + ":" + address.getPort();
        }
    }

    /** The trust in the certificates of one version of a file. */
    private record Bundle(Path path, FileTime modified, X509TrustManager trust) {}

    /**
     * Returns the settings from the environment of this process.
     *
     * @throws IllegalStateException if a variable cannot be used; the message states the remedy
     */
    public static NetworkSettings of(ConnectionSettings connection, Region region) {
        return of(
                connection.endpoint().orElseGet(() -> amazon(connection.bucket(), region)),
                System.getenv());
    }

    private static URI amazon(String bucket, Region region) {
        return URI.create("https://" + bucket + ".s3." + region.id() + "."
                + PartitionMetadata.of(region).dnsSuffix());
    }

    /** As {@link #of(ConnectionSettings, Region)}, for a server and an environment. */
    static NetworkSettings of(URI server, Map<String, String> environment) {
        // without TLS the file is not read: 140 certificates cost a new process 0.3 s
        String caFile = isHttps(server) ? environment.getOrDefault("AWS_CA_BUNDLE", "") : "";
        return new NetworkSettings(
                ofProperties(server).or(() -> ofVariables(server, environment)),
                caFile.isBlank() ? Optional.empty() : Optional.of(trust(caFile)));
    }

    private static boolean isHttps(URI server) {
        return server.getScheme().equalsIgnoreCase("https");
    }

    /** Returns the proxy of {@code -Dhttps.proxyHost} and the like. */
    private static Optional<HttpProxy> ofProperties(URI server) {
        ProxySelector selector = ProxySelector.getDefault();
        return selector == null
                ? Optional.empty()
                : selector.select(server).stream()
                        .filter(proxy -> proxy.type() == Proxy.Type.HTTP)
                        .findFirst()
                        .map(proxy -> new HttpProxy((InetSocketAddress) proxy.address(), "", ""));
    }

    private static Optional<HttpProxy> ofVariables(URI server, Map<String, String> environment) {
        boolean isHttps = isHttps(server);
        String name = isHttps ? "HTTPS_PROXY" : "HTTP_PROXY";
        String proxy = value(name, environment);
        int port = server.getPort() >= 0 ? server.getPort() : isHttps ? 443 : 80;
        return proxy.isEmpty() || isDirect(server.getHost(), port, value("NO_PROXY", environment))
                ? Optional.empty()
                : Optional.of(proxy(name, proxy));
    }

    /** Returns a variable; its lower-case form has precedence, as in curl and the AWS command. */
    private static String value(String name, Map<String, String> environment) {
        String lower = environment.getOrDefault(name.toLowerCase(Locale.ROOT), "");
        return (lower.isBlank() ? environment.getOrDefault(name, "") : lower).strip();
    }

    /** The message omits the value, which may have a password. */
    private static HttpProxy proxy(String name, String value) {
        String wrong =
                name + " is not the address of an HTTP proxy: write http://proxy.example:3128";
        try {
            URI proxy = URI.create(value.contains("://") ? value : "http://" + value);
            if (proxy.getHost() == null || !proxy.getScheme().equalsIgnoreCase("http")) {
                throw new IllegalStateException(wrong);
            }
            String[] user = (proxy.getUserInfo() == null ? "" : proxy.getUserInfo()).split(":", 2);
            String password = user.length < 2 ? "" : user[1];
            SecretRedactor.register(password);
            int port = proxy.getPort() < 0 ? DEFAULT_PROXY_PORT : proxy.getPort();
            return new HttpProxy(
                    InetSocketAddress.createUnresolved(proxy.getHost(), port), user[0], password);
        } catch (IllegalArgumentException _) { // no cause, for the same reason
            throw new IllegalStateException(wrong);
        }
    }

    /**
     * Returns true if no proxy is used for a host: one of this machine, or one that an entry of
     * {@code NO_PROXY} covers. An entry is {@code *}, a domain, an address or a network such as
     * {@code 10.0.0.0/8}; a domain and an address may have a port.
     */
    private static boolean isDirect(String serverHost, int port, String noProxy) {
        String host = serverHost.toLowerCase(Locale.ROOT);
        String bare = host.replaceAll("[\\[\\]]", "");
        if (host.equals("localhost") || isIn("127.0.0.0/8", bare) || isIn("::1/128", bare)) {
            return true;
        }
        for (String text : noProxy.toLowerCase(Locale.ROOT).split("[,\\s]+")) {
            String entry = text.replaceFirst("^\\*?\\.", "");
            if (entry.equals("*")
                    || entry.equals(bare)
                    || covers(entry, host)
                    || covers(entry, host + ":" + port)
                    || isIn(entry, bare)) {
                return true;
            }
        }
        return false;
    }

    private static boolean covers(String entry, String host) {
        return host.equals(entry)
                || (host.endsWith("." + entry)
                        && entry.chars().anyMatch(Character::isLetter)); // no part of an address
    }

    private static boolean isIn(String network, String host) {
        int slash = network.indexOf('/');
        if (slash < 0) {
            return false;
        }
        try {
            byte[] first = InetAddress.ofLiteral(network.substring(0, slash)).getAddress();
            byte[] address = InetAddress.ofLiteral(host).getAddress();
            int rest = address.length * Byte.SIZE - Integer.parseInt(network.substring(slash + 1));
            return first.length == address.length
                    && new BigInteger(1, first)
                            .shiftRight(rest)
                            .equals(new BigInteger(1, address).shiftRight(rest));
        } catch (IllegalArgumentException _) { // a name, or not a network
            return false;
        }
    }

    private static synchronized X509TrustManager trust(String file) {
        try {
            Path path = Path.of(file);
            FileTime modified = Files.getLastModifiedTime(path);
            Bundle last = parsed;
            if (last == null || !last.path.equals(path) || !last.modified.equals(modified)) {
                last = new Bundle(path, modified, parse(path));
                parsed = last;
            }
            return last.trust;
        } catch (IOException | GeneralSecurityException | InvalidPathException e) {
            throw new IllegalStateException(
                    "The certificates of AWS_CA_BUNDLE cannot be read: name a file with"
                            + " certificates in PEM form (" + e + ")",
                    e);
        }
    }

    private static X509TrustManager parse(Path path) throws IOException, GeneralSecurityException {
        KeyStore keys = KeyStore.getInstance(KeyStore.getDefaultType());
        keys.load(null, null);
        try (InputStream in = Files.newInputStream(path)) {
            for (Certificate certificate :
                    CertificateFactory.getInstance("X.509").generateCertificates(in)) {
                keys.setCertificateEntry("ca" + keys.size(), certificate);
            }
        }
        if (keys.size() == 0) {
            throw new IOException(path + " has no certificate");
        }
        TrustManagerFactory factory =
                TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
        factory.init(keys);
        return (X509TrustManager) factory.getTrustManagers()[0];
    }
}
