package dev.granary.gpu.lifetime;

/** Releases of several native objects, of which each is performed even if others fail. */
public final class Releases {
    private Releases() {}

    /**
     * Performs all releases in order.
     *
     * @throws RuntimeException the first failure, after all others were performed; further ones are
     *     suppressed in it
     */
    public static void perform(Iterable<? extends Runnable> releases) {
        RuntimeException first = null;
        for (Runnable release : releases) {
            try {
                release.run();
            } catch (RuntimeException e) {
                if (first == null) {
                    first = e;
                } else {
                    first.addSuppressed(e);
                }
            }
        }
        if (first != null) {
            throw first;
        }
    }
}
