#include <optional>
#include <string>
#include <utility>

#include "commands.hpp"
#include "diff.hpp"
#include "diff_load.hpp"
#include "diff_pictures.hpp"
#include "export/output_file.hpp"
#include "provenance_file.hpp"
#include "render/function_totals.hpp"
#include "request_sides.hpp"

namespace flameprobe {

namespace {

SortBy sort_of(const Arguments& arguments) { return arguments.sort.value_or(SortBy::total); }

Result<void> write_picture(ProfileDiff& diff, const DiffNames& names, Format format, const std::string& table,
                           const Arguments& arguments) {
    OutputFile file(arguments.output);
    if (!file.failed()) {
        const ByteSink sink = [&file](std::string_view text) { file.write(text); };
        auto written = format == Format::html
                           ? write_diff_html(diff, names, sort_of(arguments), table, arguments.graph, sink)
                           : write_diff_svg(diff, names, sort_of(arguments), arguments.graph, sink);
        if (!written) return written;
    }
    return file.commit();
}

/// SVG or HTML, the only formats that can show a comparison.
Result<Format> picture_format(const Arguments& arguments) {
    const bool named = !arguments.output.empty() && arguments.output != "-";
    const Format format = arguments.format                               ? *arguments.format
                          : named && arguments.output.ends_with(".html") ? Format::html
                                                                         : Format::svg;
    const bool drawn = format == Format::html || format == Format::svg;
    const bool fits = arguments.format || !named || arguments.output.ends_with(".svg") || format == Format::html;
    if (drawn && fits && !arguments.image) return format;
    return Error{
        "--diff makes an SVG or a page: end the output's name in .svg or .html, or say --format svg or html. "
        "The table is on standard output"};
}

}  // namespace

int diff_command(Arguments& arguments) {
    Format format = Format::svg;
    if (!arguments.output.empty()) {
        const auto chosen = picture_format(arguments);
        if (!chosen) return complain(wrong_usage, chosen.error().message);
        format = *chosen;
    }
    std::optional<RequestSides> requests;
    if (!arguments.filter.requests.label.empty()) {
        auto chosen = RequestSides::choose(arguments, arguments.inputs);
        if (!chosen) return complain(failed, chosen.error().message);
        requests = std::move(*chosen);
    }
    auto loaded = load_diff_sides(arguments);
    if (!loaded) return complain(failed, loaded.error().message);
    auto& [sides, names] = *loaded;
    if (requests) {
        names = {requests->words(false), requests->words(true)};
        for (const bool slow : {false, true}) requests->learn(sides[slow ? 1 : 0].profile, slow);
    }
    for (const DiffSide& side : sides) {
        const NamedProfile& profile = side.profile;
        for (const std::string& warning : profile.warnings) complain(done, warning);
        const auto failed =
            failed_gate(arguments.gates, total_hits(profile), profile.has_run ? &profile.summary : nullptr);
        if (!failed.empty())
            return complain(below_threshold, (&side == &sides.front() ? names.before : names.after) + ": " + failed +
                                                 "; nothing was written");
    }
    const std::string provenance = provenance_of_both(sides[0].profile, sides[1].profile);
    auto diff = diff_sides(std::move(sides[0]), std::move(sides[1]), arguments.per);
    if (!diff) return complain(failed, diff.error().message);
    DiffTable table = diff_table(*diff, arguments.top, sort_of(arguments), arguments.fail_above, names_of(arguments));
    if (requests) table.text = requests->sentence() + table.text;
    if (arguments.output != "-") {
        if (const int status = print(table.text); status != done) return status;
    }
    if (!arguments.output.empty()) {
        if (auto written = write_picture(*diff, names, format, table.text, arguments); !written)
            return complain(failed, written.error().message);
        if (const auto beside = write_text_beside(provenance, arguments.output); !beside)
            complain(done, beside.error().message);  // the picture has been written
    }
    return table.grown > 0 ? below_threshold : done;
}

}  // namespace flameprobe
