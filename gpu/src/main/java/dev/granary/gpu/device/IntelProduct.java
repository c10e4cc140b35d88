package dev.granary.gpu.device;

import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;

/**
 * The product families of Intel's devices: their numbers in binaries, and the PCI device ids.
 *
 * <p>A family is listed if its numbers were read from binaries that {@code ocloc} 22.43 has made
 * for it. The ids are those of the driver's published device lists. Families and ids that are
 * missing here lead to "undetermined", never to a wrong answer.
 */
public enum IntelProduct {
    SKYLAKE(
            "skl",
            "Skylake",
            18,
            IntelProduct.GEN_9,
            "1902 1906 190a 190b 190e 1912 1913 1915 1916 1917 191a 191b 191d 191e 1921 1923 1926"
                    + " 1927 192a 192b 192d 1932 193a 193b 193d 9905"),
    KABY_LAKE(
            "kbl",
            "Kaby Lake",
            19,
            IntelProduct.GEN_9,
            "5902 5906 5908 590a 590b 590e 5912 5913 5915 5916 5917 591a 591b 591c 591d 591e 5921"
                    + " 5923 5926 5927 592a 592b 5932 593a 593b 593d"),
    COFFEE_LAKE(
            "cfl",
            "Coffee Lake",
            20,
            IntelProduct.GEN_9,
            "3e90 3e91 3e92 3e93 3e94 3e95 3e96 3e98 3e99 3e9a 3e9b 3ea0 3ea1 3ea2 3ea3 3ea4 3ea5"
                    + " 3ea6 3ea7 3ea8 3ea9 9b21 9b41 9ba0 9ba2 9ba4 9ba5 9ba8 9baa 9bab 9bac 9bc0"
                    + " 9bc2 9bc4 9bc5 9bc6 9bc8 9bca 9bcb 9bcc 9be6 9bf6"),
    BROXTON("bxt", "Broxton", 22, IntelProduct.GEN_9, "0a84 1a84 1a85 5a84 5a85 9906 9907 9908"),
    GEMINI_LAKE("glk", "Gemini Lake", 23, IntelProduct.GEN_9, "3184 3185"),
    ICE_LAKE("icllp", "Ice Lake", 26, IntelProduct.GEN_11, "8a50 8a51 8a52 8a5a"),
    LAKEFIELD("lkf", "Lakefield", 27, IntelProduct.GEN_11, "9840"),
    ELKHART_LAKE(
            "ehl",
            "Elkhart Lake",
            28,
            IntelProduct.GEN_11,
            "4500 4541 4551 4555 4571 4e51 4e55 4e61 4e71"),
    TIGER_LAKE(
            "tgllp",
            "Tiger Lake",
            29,
            IntelProduct.XE_LP,
            "9a40 9a49 9a59 9a60 9a68 9a70 9a78 ff20"),
    ROCKET_LAKE("rkl", "Rocket Lake", 30, IntelProduct.XE_LP, "4c80 4c8a 4c8b 4c8c 4c90 4c9a"),
    ALDER_LAKE_S(
            "adls",
            "Alder Lake-S",
            31,
            IntelProduct.XE_LP,
            "4680 4682 4688 468a 468b 4690 4692 4693 a780 a781 a782 a783 a788 a789 a78a a78b"),
    ALDER_LAKE_P(
            "adlp",
            "Alder Lake-P",
            32,
            IntelProduct.XE_LP,
            "4626 4628 462a 46a0 46a1 46a3 46a6 46a8 46aa 46b0 46b1 46b3 46c0 46c1 46c3 a720 a721"
                    + " a7a0 a7a1 a7a8 a7a9 a7aa a7ab a7ac a7ad"),
    ALDER_LAKE_N("adln", "Alder Lake-N", 33, IntelProduct.XE_LP, "46d0 46d1 46d2 46d3 46d4"),
    DG1("dg1", "DG1", 1210, IntelProduct.XE_LP, "4905 4906 4907 4908 4909"),
    DG2(
            "dg2",
            "DG2",
            1270,
            IntelProduct.XE_HPG,
            "4f80 4f81 4f82 4f83 4f84 4f85 4f86 4f87 4f88 5690 5691 5692 5693 5694 5695 5696 5697"
                    + " 56a0 56a1 56a2 56a3 56a4 56a5 56a6 56af 56b0 56b1 56b2 56b3 56ba 56bb 56bc"
                    + " 56bd 56be 56bf 56c0 56c1 56c2"),
    PONTE_VECCHIO(
            "pvc",
            "Ponte Vecchio",
            1271,
            IntelProduct.XE_HPC,
            "0b69 0b6e 0bd0 0bd4 0bd5 0bd6 0bd7 0bd8 0bd9 0bda 0bdb");

    // numbers of graphics cores
    private static final int GEN_9 = 12;
    private static final int GEN_11 = 15;
    private static final int XE_LP = 18;
    private static final int XE_HPG = 0xc07;
    private static final int XE_HPC = 0xc08;

    private final String acronym;
    private final String words;
    private final int family;
    private final int core;
    private final String deviceIds;

    IntelProduct(String acronym, String words, int family, int core, String deviceIds) {
        this.acronym = acronym;
        this.words = words;
        this.family = family;
        this.core = core;
        this.deviceIds = deviceIds;
    }

    /**
     * Returns the product with that PCI device id.
     *
     * @param digits four hexadecimal digits
     */
    public static Optional<IntelProduct> ofDeviceId(String digits) {
        // no map: the first restore of a process would pay for it
        for (IntelProduct product : values()) {
            if (product.deviceIds.contains(digits)) {
                return Optional.of(product);
            }
        }
        return Optional.empty();
    }

    /** Returns the device of a binary in words. */
    public static String describe(OptionalInt family, OptionalInt core) {
        if (family.isPresent()) {
            for (IntelProduct product : values()) {
                if (product.family == family.getAsInt()) {
                    return product.words;
                }
            }
            return "product family " + family.getAsInt();
        }
        return core.isPresent() ? "graphics core " + core.getAsInt() : "an unnamed device";
    }

    /** Returns the name in Intel's compilers. */
    public String acronym() {
        return acronym;
    }

    /** Returns the PCI device ids, of four hexadecimal digits each. */
    public List<String> deviceIds() {
        return List.of(deviceIds.split(" ", -1));
    }

    /** Returns the name for people. */
    public String words() {
        return words;
    }

    /** Returns the number of the product family. */
    public int family() {
        return family;
    }

    /** Returns the number of the graphics core. */
    public int core() {
        return core;
    }
}
