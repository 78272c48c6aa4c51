#include <string>

#include "commands.hpp"
#include "diff.hpp"
#include "diff_svg.hpp"
#include "diff_table.hpp"
#include "export/output_file.hpp"
#include "export/totals.hpp"
#include "inputs.hpp"
#include "progress.hpp"
#include "render/numbers.hpp"

namespace flameprobe {

namespace {

constexpr std::uint64_t rows_by_default = 30;

SortBy sort_of(const Arguments& arguments) { return arguments.sort.value_or(SortBy::total); }

Result<void> write_picture(ProfileDiff& diff, const Arguments& arguments) {
    OutputFile file(arguments.output);
    const DiffNames names{arguments.inputs[0], arguments.inputs[1]};
    if (!file.failed()) {
        auto written = write_diff_svg(diff, names, sort_of(arguments), arguments.graph,
                                      [&file](std::string_view text) { file.write(text); });
        if (!written) return written;
    }
    return file.commit();
}

}  // namespace

int diff_command(Arguments& arguments) {
    if (!arguments.output.empty() && arguments.format.value_or(Format::svg) != Format::svg) {
        return complain(wrong_usage, "--diff draws an SVG; the table is on standard output");
    }
    if (!arguments.output.empty() && arguments.output != "-" && !arguments.format &&
        !arguments.output.ends_with(".svg")) {
        return complain(wrong_usage, "--diff draws an SVG: end the output's name in .svg, or say --format svg");
    }
    Progress progress;
    auto before = load_inputs({arguments.inputs[0]}, arguments, progress);
    if (!before) return progress.clear(), complain(failed, before.error().message);
    auto after = load_inputs({arguments.inputs[1]}, arguments, progress);
    progress.clear();
    if (!after) return complain(failed, after.error().message);
    for (const NamedProfile* side : {&*before, &*after}) {
        for (const std::string& warning : side->warnings) complain(done, warning);
        const auto failed = failed_gate(arguments.gates, total_hits(*side), side->has_run ? &side->summary : nullptr);
        if (!failed.empty())
            return complain(below_threshold,
                            arguments.inputs[side == &*after] + ": " + failed + "; nothing was written");
    }
    auto diff = diff_profiles(std::move(*before), std::move(*after));
    if (!diff) return complain(failed, diff.error().message);
    const DiffTable table =
        diff_table(*diff, arguments.top.value_or(rows_by_default), sort_of(arguments), arguments.fail_above);
    if (arguments.output != "-") {
        if (const int status = print(table.text); status != done) return status;
    }
    if (!arguments.output.empty()) {
        if (auto written = write_picture(*diff, arguments); !written) return complain(failed, written.error().message);
    }
    return table.grown > 0 ? below_threshold : done;
}

}  // namespace flameprobe
