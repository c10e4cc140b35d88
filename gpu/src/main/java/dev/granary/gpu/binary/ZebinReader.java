package dev.granary.gpu.binary;

import dev.granary.gpu.binary.BinaryContainer.Steppings;
import dev.granary.gpu.binary.BinaryContainer.Zebin;

import java.util.OptionalInt;

/**
 * Reader of Intel's zebin. Its compatibility is in the notes of one section. Files without these
 * notes have it in the machine and the flags of the ELF header.
 */
final class ZebinReader {
    private static final int FIRST_TYPE = 0xff11;
    private static final int LAST_TYPE = 0xff13;
    private static final int INTEL_MACHINE = 205;
    private static final int SPIR_V = 0xff00_0009; // type of a section
    private static final String NOTES = ".note.intelgt.compat";
    private static final String OWNER = "IntelGT";
    private static final int NOTE_HEADER_BYTES = 12;

    // fields of the target metadata, which are also those of the flags in the header
    private static final int VALIDATES_STEPPING = 1 << 13;
    private static final int MACHINE_IS_CORE = 1 << 15;
    private static final int FIRST_STEPPING_SHIFT = 8;
    private static final int LAST_STEPPING_SHIFT = 16;
    private static final int STEPPING_MASK = 0x1f;

    private OptionalInt family = OptionalInt.empty();
    private OptionalInt core = OptionalInt.empty();
    private OptionalInt productConfig = OptionalInt.empty();
    private Steppings steppings = Steppings.ANY;
    private String version = "";
    private boolean hasIntermediate;

    private ZebinReader() {}

    static boolean isZebin(ElfFile file) {
        return file.machine() == INTEL_MACHINE
                || (file.type() >= FIRST_TYPE && file.type() <= LAST_TYPE);
    }

    static Zebin read(ElfFile file) throws MalformedContainerException {
        ZebinReader reader = new ZebinReader();
        if (file.machine() != INTEL_MACHINE) {
            if ((file.flags() & MACHINE_IS_CORE) != 0) {
                reader.core = named(file.machine());
            } else {
                reader.family = named(file.machine());
            }
            reader.steppings = steppings(file.flags());
        }
        boolean hasNotes = false;
        for (int i = 0; i < file.sectionCount(); i++) {
            ElfFile.Section section = file.section(i);
            if (section.type() == SPIR_V) {
                reader.hasIntermediate |= file.content(section).length() > 0;
            } else if (section.type() == ElfFile.NOTE
                    && !hasNotes
                    && file.isNamed(section, NOTES)) {
                hasNotes = true;
                reader.readNotes(file.content(section));
            }
        }
        return new Zebin(
                reader.family,
                reader.core,
                reader.steppings,
                reader.version,
                reader.productConfig,
                reader.hasIntermediate);
    }

    private void readNotes(ContainerBytes notes) throws MalformedContainerException {
        long at = 0;
        while (at < notes.length()) {
            long nameBytes = notes.unsignedInt(at);
            long contentBytes = notes.unsignedInt(at + 4);
            int type = notes.signedInt(at + 8);
            long contentAt = at + NOTE_HEADER_BYTES + padded(nameBytes);
            ContainerBytes content = notes.part(contentAt, contentBytes);
            if (nameBytes == OWNER.length() + 1
                    && notes.isTerminatedText(at + NOTE_HEADER_BYTES, OWNER)) {
                readNote(type, content);
            }
            at = contentAt + padded(contentBytes);
        }
    }

    private void readNote(int type, ContainerBytes content) throws MalformedContainerException {
        switch (type) {
            case 1 -> family = named(content.signedInt(0));
            case 2 -> core = named(content.signedInt(0));
            case 3 -> steppings = steppings(content.signedInt(0));
            case 4 -> version = ContainerBytes.printable(content.textBeforeNul());
            case 6 -> productConfig = named(content.signedInt(0));
            default -> {} // versions of debuggers and of memory features
        }
    }

    private static OptionalInt named(int number) {
        return number == 0 ? OptionalInt.empty() : OptionalInt.of(number);
    }

    private static Steppings steppings(int metadata) {
        return (metadata & VALIDATES_STEPPING) == 0
                ? Steppings.ANY
                : new Steppings(
                        (metadata >>> FIRST_STEPPING_SHIFT) & STEPPING_MASK,
                        (metadata >>> LAST_STEPPING_SHIFT) & STEPPING_MASK);
    }

    private static long padded(long length) {
        return (length + 3) & ~3L;
    }
}
