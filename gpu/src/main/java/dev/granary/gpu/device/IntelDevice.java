package dev.granary.gpu.device;

import dev.granary.cache.Target;

import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.OptionalInt;

/**
 * An Intel GPU as targets name it: its PCI device id and, if the driver reports it, the version of
 * its architecture. Immutable.
 *
 * <p>The name that a driver reports is not part of it: it differs between versions of the driver,
 * and no compiler has it for a device that is not here.
 *
 * @param pciId the PCI device id
 * @param ipVersion the version of the architecture, as the driver encodes it
 */
public record IntelDevice(int pciId, OptionalInt ipVersion) {
    /** The vendor of Intel's drivers in targets. */
    public static final String VENDOR = "intel";

    /** Before the id; other devices of Intel have their name there. */
    private static final String GPU = "GPU";

    private static final String ID_MARK = " id 0x";
    private static final String IP_MARK = " ip 0x";
    private static final int ID_DIGITS = 4;
    private static final int IP_DIGITS = 8;

    /** Returns the text of this device in a target, such as {@code GPU id 0x9a49}. */
    public String text() {
        return GPU
                + ID_MARK
                + Integer.toHexString(pciId)
                + (ipVersion.isPresent()
                        ? IP_MARK + Integer.toHexString(ipVersion.getAsInt())
                        : "");
    }

    /** Returns the PCI device id as {@code ocloc} takes it, such as {@code 0x9a49}. */
    public String pciText() {
        return "0x" + Integer.toHexString(pciId);
    }

    /** Returns the device of a target; empty if it has no PCI device id of Intel. */
    public static Optional<IntelDevice> of(Target target) {
        return target.vendor().equals(VENDOR) ? parse(target.device()) : Optional.empty();
    }

    // no regular expression: the first restore of a process would pay for it
    private static Optional<IntelDevice> parse(String device) {
        int id = device.lastIndexOf(ID_MARK);
        if (id < 0) {
            return Optional.empty();
        }
        int ip = device.indexOf(IP_MARK, id);
        String idDigits = device.substring(id + ID_MARK.length(), ip < 0 ? device.length() : ip);
        String ipDigits = ip < 0 ? "" : device.substring(ip + IP_MARK.length());
        if (!isHexadecimal(idDigits, ID_DIGITS)
                || (ip >= 0 && !isHexadecimal(ipDigits, IP_DIGITS))) {
            return Optional.empty();
        }
        return Optional.of(new IntelDevice(
                Integer.parseInt(idDigits, 16),
                ip < 0
                        ? OptionalInt.empty()
                        : OptionalInt.of(Integer.parseUnsignedInt(ipDigits, 16))));
    }

    /** Returns the device with a PCI device id such as {@code 0x9A49}; empty for another text. */
    public static Optional<IntelDevice> ofPciText(String text) {
        String lower = text.toLowerCase(Locale.ROOT);
        return lower.startsWith("0x") && isHexadecimal(lower.substring(2), ID_DIGITS)
                ? Optional.of(new IntelDevice(
                        Integer.parseInt(lower.substring(2), 16), OptionalInt.empty()))
                : Optional.empty();
    }

    /**
     * Returns the devices of a product family by its name in Intel's compilers, such as
     * {@code tgllp}; none for another name.
     */
    public static List<IntelDevice> ofFamily(String acronym) {
        return Arrays.stream(IntelProduct.values())
                .filter(product -> product.acronym().equalsIgnoreCase(acronym))
                .flatMap(product -> product.deviceIds().stream())
                .map(digits -> new IntelDevice(Integer.parseInt(digits, 16), OptionalInt.empty()))
                .toList();
    }

    /** Returns the names of the product families that {@link #ofFamily} has devices for. */
    public static List<String> families() {
        return Arrays.stream(IntelProduct.values()).map(IntelProduct::acronym).toList();
    }

    /** Returns the product of this device; empty for an id that no list has. */
    public Optional<IntelProduct> product() {
        return IntelProduct.ofDeviceId(
                Integer.toHexString((1 << (4 * ID_DIGITS)) | pciId).substring(1));
    }

    private static boolean isHexadecimal(String digits, int most) {
        for (int i = 0; i < digits.length(); i++) {
            if ("0123456789abcdef".indexOf(digits.charAt(i)) < 0) {
                return false;
            }
        }
        return !digits.isEmpty() && digits.length() <= most;
    }
}
