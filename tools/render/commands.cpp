#include "commands.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <set>
#include <utility>

#include "base/printed.hpp"
#include "comment.hpp"
#include "export/output_file.hpp"
#include "inputs.hpp"
#include "page_sources.hpp"
#include "progress.hpp"
#include "provenance_file.hpp"
#include "render/function_totals.hpp"
#include "render/text.hpp"
#include "selection.hpp"
#include "tables.hpp"

namespace flameprobe {

namespace {

/// Adds the selection to the subtitle, so that a picture of one thread is not taken for that of all.
void describe_selection(Arguments& arguments) {
    std::string text = selection_words(arguments);
    if (!text.empty()) text.insert(0, "only ");
    if (const std::string cut = arguments.cut.description(); !cut.empty()) text += (text.empty() ? "" : ", ") + cut;
    if (!arguments.graph.subtitle.empty() && !text.empty()) text = arguments.graph.subtitle + "; " + text;
    if (!text.empty()) arguments.graph.subtitle = text;
}

bool only_text(const Arguments& arguments) {
    return arguments.info || arguments.comment || ((arguments.top || arguments.by_scope) && arguments.output.empty());
}

/// The format to write; for an image the SVG that it is drawn from.
Result<Format> output_format(Arguments& arguments) {
    if (arguments.comment) return Format::folded;  // nothing but its text is written
    if (!arguments.format && !arguments.image) arguments.image = image_by_path(arguments.output);
    if (arguments.image) return Format::svg;
    if (arguments.format) return *arguments.format;
    if (arguments.output.empty() || arguments.output == "-") return Format::svg;
    auto format = format_by_path(arguments.output);
    if (!format) return Error{format.error().message + ", .png, .pdf; or say --format"};
    return format;
}

int print_comment(const NamedProfile& profile, const Arguments& arguments) {
    if (arguments.output.empty()) return print(comment_text(profile));
    OutputFile file(arguments.output);
    file.write(comment_text(profile));
    const auto written = file.commit();
    return written ? done : complain(failed, written.error().message);
}

int print_tables(const NamedProfile& profile, const Arguments& arguments) {
    constexpr std::uint64_t all_scopes = ~std::uint64_t{0};
    if (arguments.by_scope) return print(scope_table(profile, arguments.top.value_or(all_scopes), names_of(arguments)));
    if (arguments.top)
        return print(top_table(profile, *arguments.top, arguments.sort.value_or(SortBy::self), names_of(arguments),
                               arguments.graph.every_frame));
    return done;
}

/// To standard error if the picture goes to standard output.
void print_processes(const NamedProfile& profile, const Arguments& arguments) {
    const bool to_stdout = only_text(arguments) || (!arguments.output.empty() && arguments.output != "-");
    print_text(to_stdout ? stdout : stderr, process_table(profile.shares));
}

Result<void> write_image_of(const NamedProfile& profile, const Arguments& arguments) {
    std::string svg;
    auto written = write_svg(profile, arguments.graph, [&svg](std::string_view piece) { svg += piece; });
    if (!written) return written;
    OutputFile file(arguments.output.empty() ? "-" : arguments.output);
    if (!file.failed()) {
        written = write_image(svg, *arguments.image, [&file](std::string_view piece) { file.write(piece); });
        if (!written) return Error{arguments.output + ": not written: " + written.error().message};
    }
    return file.commit();
}

/// "; its threads are: a, b", each name once, as many as fit a line.
std::string threads_of(const NamedProfile& profile) {
    constexpr std::size_t most_names = 20;
    std::set<std::string> names;
    for (const Thread& thread : profile.threads) names.insert(thread.name);
    std::string list;
    std::size_t left = std::min(names.size(), most_names);
    for (auto name = names.begin(); left > 0; --left, ++name) list += (list.empty() ? "" : ", ") + *name;
    if (names.size() > most_names) list += " and " + std::to_string(names.size() - most_names) + " more";
    return list.empty() ? "" : "; its threads are: " + list;
}

PageSource source_of(const NamedProfile& profile, const Arguments& arguments) {
    constexpr std::size_t most_functions = 50;
    PageSource source = source_lines(profile, most_functions);
    add_source_text(profile, arguments.source_directories, source);
    add_disassembly(profile, source);
    if (source.functions.empty())
        complain(done, "--source: no lines are known of the functions in which samples end: build these with -g");
    complain(done, std::string(without_instructions()));
    return source;
}

int write_selected(const NamedProfile& profile, const Arguments& arguments, Format format) {
    const std::uint64_t samples = total_hits(profile);
    if (const auto failed = failed_gate(arguments.gates, samples, profile.has_run ? &profile.summary : nullptr);
        !failed.empty()) {
        return complain(below_threshold, failed + "; nothing was written");
    }
    if (arguments.info) return print(info_text(profile));
    if (total_weight(profile) == 0) {
        return complain(
            failed, arguments.inputs.front() + ": no samples" +
                        (arguments.inputs.size() > 1 ? " in it and the other inputs" : "") +
                        (arguments.graph.subtitle.empty() ? "" : " in what was chosen: " + arguments.graph.subtitle) +
                        (arguments.filter.thread.empty() ? "" : threads_of(profile)));
    }
    if (arguments.comment) return print_comment(profile, arguments);
    if (const int status = print_tables(profile, arguments); status != done || only_text(arguments)) return status;
    FlameGraphOptions graph = arguments.graph;
    PageSource source;
    if (arguments.source && format == Format::html) {
        source = source_of(profile, arguments);
        graph.source = &source;
    }
    const auto written = arguments.image
                             ? write_image_of(profile, arguments)
                             : write_output(profile, format, arguments.output.empty() ? "-" : arguments.output,
                                            {graph, arguments.server});
    if (!written) return complain(failed, written.error().message);
    const bool is_picture = arguments.image || format == Format::svg || format == Format::html;
    if (is_picture && !arguments.output.empty() && arguments.output != "-") {
        // Only a message: the picture has been written.
        if (const auto beside = write_provenance_beside(profile, arguments.output); !beside)
            return complain(done, beside.error().message);
    }
    return done;
}

}  // namespace

int complain(ExitStatus status, const std::string& message) {
    if (!message.empty()) print_message("flameprobe-render", message);
    if (status == wrong_usage) std::fputs("Try 'flameprobe-render --help'.\n", stderr);
    return status;
}

int print(const std::string& text) {
    return print_text(stdout, text) ? done : complain(failed, "standard output cannot be written");
}

int render_command(Arguments& arguments) {
    describe_selection(arguments);
    const auto format = output_format(arguments);
    if (!format) return complain(wrong_usage, format.error().message);
    if (!only_text(arguments) && arguments.output.empty() && !arguments.format && !arguments.image &&
        isatty(STDOUT_FILENO) == 1) {
        return complain(wrong_usage, "say where the picture goes: -o FILE.svg (or --top 20 for a table)");
    }
    if (arguments.source && (*format != Format::html || only_text(arguments)))
        return complain(wrong_usage, "--source belongs to a page: -o FILE.html");
    arguments.filter.times = *format == Format::html;
    if (*format == Format::html && !only_text(arguments)) {  // where the reader can switch them off
        arguments.graph.own_code = std::exchange(arguments.cut.own_code, false);
        arguments.graph.fold_glue = std::exchange(arguments.cut.fold_glue, false);
    }
    Progress progress;
    auto profile = load_inputs(arguments.inputs, arguments, progress);
    const bool all_events = arguments.info || arguments.comment || (!only_text(arguments) && holds_all_events(*format));
    if (profile && all_events && arguments.filter.event.empty()) {
        if (auto others = load_other_events(*profile, arguments.inputs, arguments, progress); !others)
            profile = others.error();
    }
    progress.clear();
    if (!profile) return complain(failed, profile.error().message);
    if (!arguments.info) {
        for (const std::string& warning : profile->warnings) complain(done, warning);
    }
    const int status = write_selected(*profile, arguments, *format);
    const bool tells_processes = arguments.tree || (arguments.info && profile->shares.size() > 1);
    if (status == done && tells_processes) print_processes(*profile, arguments);
    return status;
}

}  // namespace flameprobe
