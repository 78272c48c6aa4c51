#include "profile_pictures.hpp"

#include <algorithm>
#include <utility>

#include "inputs.hpp"
#include "provenance_file.hpp"
#include "render/function_totals.hpp"

namespace flameprobe {

namespace {

/// All events of the profile, those but the first as `others`.
Result<NamedProfile> load_events(const std::string& path, const ResultOptions& options, bool idle) {
    Arguments arguments = options.look;
    arguments.filter.idle = idle;
    arguments.filter.times =
        std::find(options.formats.begin(), options.formats.end(), Format::html) != options.formats.end();
    Progress progress;
    auto profile = load_inputs({path}, arguments, progress, options.parts);
    if (!profile) return profile;
    const auto others = load_other_events(*profile, {path}, arguments, progress, options.parts);
    if (!others) return others.error();
    return profile;
}

bool is_empty(const NamedProfile& profile) { return total_weight(profile) == 0 && profile.others.empty(); }

/// A program that only waits, in a deadlock for one, has no sample of CPU time: then the next event is the first one.
/// Whether it was so.
bool lead_with_samples(NamedProfile& profile) {
    if (total_weight(profile) != 0 || profile.others.empty()) return false;
    std::vector<NamedProfile> others = std::move(profile.others);
    profile = std::move(others.front());
    others.erase(others.begin());
    profile.others = std::move(others);
    return true;
}

void draw(const std::string& path, const std::string& stem, const ResultOptions& options, ResultMessages& messages) {
    const auto problem = [&](std::string text) { messages.problems.push_back(std::move(text)); };
    const auto fail = [&](std::string text) {
        problem(std::move(text));
        messages.failed = true;
    };
    auto profile = load_events(path, options, false);
    if (!profile) return fail(profile.error().message);
    if (is_empty(*profile)) {  // of a program that hangs, what never woke is all that there is
        if (auto with_idle = load_events(path, options, true); with_idle && !is_empty(*with_idle)) {
            profile = std::move(with_idle);
            problem("no thread woke or used CPU time: the pictures show where all of them wait");
        }
        if (is_empty(*profile)) return problem(path + ": no samples of " + profile->run.event + ", so no pictures");
    }
    const bool first_is_empty = lead_with_samples(*profile);
    std::ranges::for_each(profile->warnings, problem);
    const OutputOptions output{options.look.graph, {}};
    std::string picture;
    const auto write = [&](const NamedProfile& event, Format format, const std::string& to) {
        const auto done = write_output(event, format, to, output);
        if (!done) return fail(done.error().message + " (the samples are safe in " + path + ")");
        messages.wrote.push_back(to);
        if (picture.empty() && (format == Format::svg || format == Format::html)) picture = to;
    };
    for (const Format format : options.formats) {
        const std::string ending(ending_of(format));
        const bool has_all = holds_all_events(format);
        write(*profile, format, stem + (first_is_empty && !has_all ? '.' + profile->run.event : "") + ending);
        if (has_all) continue;
        for (const NamedProfile& other : profile->others)
            if (!is_number_of_allocations(other.run.event)) write(other, format, stem + '.' + other.run.event + ending);
    }
    if (picture.empty()) return;
    if (const auto done = write_provenance_beside(*profile, picture); !done) problem(done.error().message);
}

}  // namespace

void draw_profile(const std::string& path, const std::string& stem, const ResultOptions& options,
                  ResultMessages& messages) {
    if (!options.look.cut.own_code && !options.look.cut.fold_glue) return draw(path, stem, options, messages);
    // A page holds what is left out, and its reader may show it.
    ResultOptions page = options, others = options;
    page.formats = {Format::html};
    if (std::erase(others.formats, Format::html) > 0) {
        page.look.graph.own_code = std::exchange(page.look.cut.own_code, false);
        page.look.graph.fold_glue = std::exchange(page.look.cut.fold_glue, false);
        draw(path, stem, page, messages);
    }
    if (!others.formats.empty()) draw(path, stem, others, messages);
}

}  // namespace flameprobe
