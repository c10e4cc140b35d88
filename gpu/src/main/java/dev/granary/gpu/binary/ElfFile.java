package dev.granary.gpu.binary;

/**
 * Header and section table of an ELF file of 64 bits, little-endian: the layout of the System V
 * ABI.
 *
 * @param bytes the file
 * @param type the type of the file
 * @param machine the machine that the code is for
 * @param flags the flags of the machine
 * @param abiVersion the version of the machine's ABI
 * @param sections the position of the section table
 * @param sectionCount the number of sections
 * @param names the bytes with the names of sections; empty if there are none
 */
record ElfFile(
        ContainerBytes bytes,
        int type,
        int machine,
        int flags,
        int abiVersion,
        long sections,
        int sectionCount,
        ContainerBytes names) {
    static final String MAGIC = "\u007fELF";
    static final int NOTE = 7; // type of a section

    private static final int CLASS_64 = 2;
    private static final int LITTLE_ENDIAN = 1;
    private static final int SECTION_BYTES = 64;
    private static final int NO_BYTES = 8; // type of a section without bytes in the file

    /**
     * A row of the section table.
     *
     * @param name the position of the name
     * @param type the type of the content
     * @param offset the position of the content
     * @param size the length of the content
     */
    record Section(long name, int type, long offset, long size) {}

    static ElfFile read(ContainerBytes bytes) throws MalformedContainerException {
        if (bytes.unsignedByte(4) != CLASS_64 || bytes.unsignedByte(5) != LITTLE_ENDIAN) {
            throw new MalformedContainerException("not of 64 bits and little-endian");
        }
        long sections = bytes.signedLong(40);
        int sectionBytes = bytes.unsignedShort(58);
        int sectionCount = bytes.unsignedShort(60);
        int nameSection = bytes.unsignedShort(62);
        if (sectionCount > 0) {
            if (sectionBytes != SECTION_BYTES) {
                throw new MalformedContainerException(
                        "rows of " + sectionBytes + " bytes in the section table");
            }
            bytes.part(sections, (long) sectionCount * SECTION_BYTES); // checks the bounds
        }
        ElfFile file = new ElfFile(
                bytes,
                bytes.unsignedShort(16),
                bytes.unsignedShort(18),
                bytes.signedInt(48),
                bytes.unsignedByte(8),
                sections,
                sectionCount,
                bytes.part(0, 0));
        return nameSection > 0 && nameSection < sectionCount
                ? file.withNames(file.content(file.section(nameSection)))
                : file;
    }

    private ElfFile withNames(ContainerBytes content) {
        return new ElfFile(
                bytes, type, machine, flags, abiVersion, sections, sectionCount, content);
    }

    Section section(int index) throws MalformedContainerException {
        long row = sections + (long) index * SECTION_BYTES;
        return new Section(
                bytes.unsignedInt(row),
                bytes.signedInt(row + 4),
                bytes.signedLong(row + 24),
                bytes.signedLong(row + 32));
    }

    ContainerBytes content(Section section) throws MalformedContainerException {
        return section.type() == NO_BYTES
                ? bytes.part(0, 0)
                : bytes.part(section.offset(), section.size());
    }

    boolean isNamed(Section section, String name) {
        return names.isTerminatedText(section.name(), name);
    }
}
