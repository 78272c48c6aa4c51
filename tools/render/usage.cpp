#include "arguments.hpp"
#include "export/output.hpp"

namespace flameprobe {

namespace {

// @endings@ and @names@ are replaced by those of all formats.
constexpr std::string_view text =
    "Usage: flameprobe-render INPUT... [-o OUTPUT] [--format FORMAT]\n"
    "       flameprobe-render --top N INPUT...\n"
    "       flameprobe-render --diff BEFORE AFTER [-o OUTPUT.html] [--fail-above PERCENT]\n"
    "       flameprobe-render --diff INPUT --from T --to T | --thread A --thread B | ...\n"
    "       flameprobe-render --archive INPUT [-o OUTPUT.fprobe]\n"
    "Makes pictures, tables, comparisons and other formats of profiles. Several inputs are merged. An INPUT is a\n"
    ".fprobe, folded stacks, the text of perf script, pprof (gzip'ed or not), or - for standard input.\n"
    "\n"
    "  flameprobe-render server.fprobe -o server.html           the page: flame graph, tables, filters\n"
    "  flameprobe-render --top 20 server.fprobe                 the answer and a table, in the terminal\n"
    "  flameprobe-render --diff old.fprobe new.fprobe -o diff.html\n"
    "\n"
    "Output\n"
    "  -o, --output FILE     @endings@ .png .pdf;\n"
    "                        .fprobe: the inputs' processes as they are, merged in one file;\n"
    "                        without it, an SVG on standard output\n"
    "  -f, --format FORMAT   @names@, png, pdf, whatever the name\n"
    "      --top N           a table of the N functions with most time of their own\n"
    "      --sort KEY        order of that table: self (default) or total;\n"
    "                        with --diff total is the default, and colours show this key\n"
    "      --by-scope        a table of scopes\n"
    "      --info            what was measured, and how\n"
    "      --diff            compare two inputs: what grew, what shrank, what is noise; as a table, .html or .svg.\n"
    "                        Each may be a directory of .fprobe, or several names with commas between.\n"
    "                        Of one input, what is selected is compared with its rest; an option of selection that\n"
    "                        stands twice is for one side each: --thread A --thread B\n"
    "      --per WHAT        with --diff: compare by share, second, run, or a unit of work that the program counted;\n"
    "                        default: a unit that both sides counted, else shares\n"
    "      --fail-above P    with --diff: exit status 3 if a function grew by more than P percent of the whole\n"
    "      --archive         store the names in the .fprobe, for machines without the program\n"
    "\n"
    "Selection\n"
    "      --event NAME      samples of this event: cpu, offcpu, wall, ... (default: the first that was sampled)\n"
    "      --idle            with offcpu and wall: also the waits of threads that never woke\n"
    "      --thread NAME     only this thread (name or tid)\n"
    "      --scope LABEL     only samples inside this scope\n"
    "      --requests LABEL  the slowest of these requests (FlameProbe::Request) beside the others, each request's "
    "time;\n"
    "                        as --diff\n"
    "      --slowest P       which are slow: P percent of them (default: 1%)\n"
    "      --between A B     which are slow: those that took A to B: 10ms 50ms\n"
    "      --pid PID         only this process\n"
    "      --process RE      only processes of programs whose name matches the regular expression\n"
    "      --from T, --to T  only samples from T on, before T, after the run's start: 1.5s, 200ms, 2m\n"
    "      --tree            each process first in its stacks, the heaviest first, and a table of them\n"
    "      --focus RE        only stacks with a function that matches the regular expression (grep -E's)\n"
    "      --ignore RE       without stacks that have one\n"
    "      --hide RE         without its frames: their time is their caller's own\n"
    "      --no-inline       without inlined frames\n"
    "      --own-code        of each run of frames of libraries and the kernel one; their time is its own\n"
    "      --fold-glue       without functions that only start threads or forward calls, and a function that calls\n"
    "                        itself once\n"
    "      --merge-threads   threads whose names differ in a number are one: worker-*\n"
    "      --min-samples N   exit status 3 and no output if there are fewer\n"
    "      --min-rooted P    likewise if less than P percent of the time is on stacks that reach their thread's start\n"
    "      --max-lost P      likewise if more than P percent of the time was lost\n"
    "\n"
    "Picture\n"
    "      --title TEXT      --subtitle TEXT\n"
    "      --colors NAME     hot, cold, mono, module\n"
    "      --icicle          root at the top\n"
    "      --each-thread     a box for each thread, where those like worker-1 would be one, worker-*\n"
    "      --reverse         merge from the leaves: hot functions, and above them their callers\n"
    "      --width N         of the picture, in pixels (default 1200)\n"
    "      --unfold          every frame: chains that only lead on, and the kernel's; in an SVG narrow towers too\n"
    "      --siblings ORDER  by weight, the heaviest first (default), or by name, so that two can be compared\n"
    "      --for readme      840 pixels, like threads as one, without the narrowest frames, at most 150 kB\n"
    "      --for github      a comment in Markdown: the answer, the functions, the graph in letters\n"
    "      --source[=DIR]    in an .html: lines of the hottest functions with their samples, and instructions; files\n"
    "                        are looked for below DIR too (may be repeated). The page then shows that code\n"
    "      --min-width P     gather frames narrower than P percent in one box (default 0.1)\n"
    "\n"
    "Other formats\n"
    "      --pprof-threads[=exact]\n"
    "                        pprof and OTLP: label samples with their thread's name, worker 3 as worker *;\n"
    "                        exact: with name and tid\n"
    "\n"
    "Names\n"
    "      --short-names     without template arguments, parameters and return types, in every output;\n"
    "                        labels in pictures are short anyway\n"
    "      --long-names      whole names in tables\n"
    "      --max-memory SIZE how much it may use, as 16G (default 4G, at most half of the machine's)\n"
    "      --debug-dir DIR   look for separate debug files here too (may be repeated)\n"
    "      --debuginfod[=TIME]\n"
    "                        ask the servers in DEBUGINFOD_URLS for debug files, for TIME in all (60s)\n"
    "\n"
    "  -h, --help            --version\n"
    "\n"
    "Exit status: 0 done, 1 the input is bad or the output cannot be written, 2 wrong usage, 3 a gate was not passed.\n"
    "Gates are --min-samples, --min-rooted, --max-lost, and --fail-above for a function that grew.\n";

}  // namespace

std::string usage_text() {
    std::string usage(text);
    const auto put = [&usage](std::string_view mark, const std::string& value) {
        usage.replace(usage.find(mark), mark.size(), value);
    };
    put("@endings@", format_endings(" "));
    put("@names@", format_names());
    return usage;
}

}  // namespace flameprobe
