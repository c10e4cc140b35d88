package dev.granary.gpu.tool;

import java.io.IOException;

/** Thrown if a compiler did not end within its limit, and was killed. */
public final class ToolOverdueException extends IOException {
    private static final long serialVersionUID = 1L;

    ToolOverdueException(String message) {
        super(message);
    }
}
