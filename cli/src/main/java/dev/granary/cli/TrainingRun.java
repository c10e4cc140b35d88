package dev.granary.cli;

/** The training run of the ahead-of-time cache for short commands. Each argument is a command. */
final class TrainingRun {
    private TrainingRun() {}

    public static void main(String[] commands) {
        for (String command : commands) {
            String[] words = command.split(" ");
            Main.commandLine(words).execute(words);
        }
    }
}
