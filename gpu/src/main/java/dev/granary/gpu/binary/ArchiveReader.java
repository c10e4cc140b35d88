package dev.granary.gpu.binary;

import dev.granary.gpu.binary.BinaryContainer.IntelArchive;
import dev.granary.gpu.binary.BinaryContainer.Member;

import java.util.ArrayList;
import java.util.List;

/**
 * Reader of archives in the format of {@code ar}, with the long names of GNU. The files of
 * {@code ocloc} are named by pointer size and device, such as {@code 64.12.0.0}.
 */
final class ArchiveReader {
    static final String MAGIC = "!<arch>\n";

    /** The names of files that only move the next one to a multiple of 8. */
    private static final String PADDING = "pad_";

    private static final int HEADER_BYTES = 60;
    private static final int NAME_BYTES = 16;
    private static final int SIZE_AT = 48;
    private static final int SIZE_BYTES = 10;
    private static final int LONG_NAME_LIMIT = 256;

    private ArchiveReader() {}

    static IntelArchive read(ContainerBytes bytes, int depth) throws MalformedContainerException {
        List<Member> members = new ArrayList<>();
        ContainerBytes longNames = bytes.part(0, 0);
        long at = MAGIC.length();
        while (at < bytes.length()) {
            ContainerBytes header = bytes.part(at, HEADER_BYTES);
            if (!header.from(HEADER_BYTES - 2).startsWith("`\n")) {
                throw new MalformedContainerException("no file header at byte " + at);
            }
            long size = number(header.part(SIZE_AT, SIZE_BYTES));
            ContainerBytes content = bytes.part(at + HEADER_BYTES, size);
            String name = header.text(NAME_BYTES).strip();
            if (name.equals("//")) {
                longNames = content;
            } else if (!name.equals("/") && !name.startsWith(PADDING)) {
                members.add(new Member(
                        ContainerText.printable(memberName(name, longNames)),
                        ContainerReader.read(content, depth)));
            }
            at += HEADER_BYTES + size + (size & 1); // files begin at even positions
        }
        return new IntelArchive(members);
    }

    private static String memberName(String name, ContainerBytes longNames)
            throws MalformedContainerException {
        if (!name.startsWith("/")) {
            return name.endsWith("/") ? name.substring(0, name.length() - 1) : name;
        }
        String text = longNames.from(number(name.substring(1))).text(LONG_NAME_LIMIT);
        int end = text.indexOf('/');
        return end < 0 ? text : text.substring(0, end);
    }

    private static long number(ContainerBytes field) throws MalformedContainerException {
        return number(field.text(SIZE_BYTES).strip());
    }

    private static long number(String digits) throws MalformedContainerException {
        if (digits.isEmpty()
                || digits.length() > SIZE_BYTES
                || !digits.chars().allMatch(c -> c >= '0' && c <= '9')) {
            throw new MalformedContainerException("no number: " + ContainerText.printable(digits));
        }
        return Long.parseLong(digits);
    }
}
