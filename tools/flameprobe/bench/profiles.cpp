#include "profiles.hpp"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <string_view>

#include "export/output.hpp"
#include "export/output_file.hpp"
#include "export/text.hpp"
#include "image.hpp"
#include "inputs.hpp"
#include "merge.hpp"
#include "outside/byte_stream.hpp"
#include "outside/reader.hpp"
#include "render/answer.hpp"
#include "render/function_totals.hpp"
#include "symbolize/load.hpp"
#include "symbolize/raw_profile.hpp"

namespace flameprobe::bench {

namespace {

/// Units of work are read ten times a second, so the load's last ones have a time after its end, when no work is done
/// any more.
constexpr std::uint64_t read_late_ns = 250'000'000;

/// The window as times since the run's start, which is in the file.
Result<SampleFilter> filter_of(const std::string& path, const Window& window) {
    SampleFilter filter;
    RawProfile raw(filter);
    const auto read = read_profile(path, raw);
    if (!read) return read.error();
    if (!raw.run_info) return Error{path + ": does not say when its run started"};
    const std::uint64_t start = raw.run_info->start_unix_ns;
    if (window.from_ns > start) filter.from_ns = window.from_ns - start;
    filter.to_ns = window.to_ns > start ? window.to_ns - start : 0;
    filter.late_counts_ns = read_late_ns;
    return filter;
}

/// `event`: empty for CPU time.
Result<NamedProfile> load(const std::string& path, const Window& window, SymbolCache& cache,
                          const std::string& event = {}) {
    auto filter = filter_of(path, window);
    if (!filter) return filter.error();
    filter->event = event;
    auto source = ByteSource::open(path);
    if (!source) return source.error();
    Progress progress;
    auto profile = load_profile(*source, *filter, symbolize_options(Arguments(), progress, path), &cache);
    progress.clear();
    return profile;
}

Result<void> add_waits(const std::string& path, const Window& window, SymbolCache& cache, WaitTimes& waits) {
    const auto profile = load(path, window, cache, "offcpu");
    if (!profile) return profile.error();
    for (const NamedCount& count : profile->counts) {
        std::uint64_t& sum = waits[std::string(profile->name(profile->nodes[count.node].frame))];
        sum = add_saturated(sum, count.weight);
    }
    return {};
}

Result<void> add_allocations(const std::string& path, const Window& window, SymbolCache& cache,
                             std::map<std::string, FunctionAllocations>& allocations) {
    for (const auto event : {event_name::alloc, event_name::alloc_objects}) {
        const auto profile = load(path, window, cache, std::string(event));
        if (!profile) return profile.error();
        for (const FunctionTotal& function : function_totals(*profile).functions) {
            FunctionAllocations& sum = allocations[display_name(*profile, function.function)];
            if (event == event_name::alloc_objects) {
                sum.number += function.self;
                continue;
            }
            sum.bytes += function.self;
            sum.total_bytes += function.total;
            sum.samples += function.self_hits;
        }
    }
    return {};
}

}  // namespace

Result<ProfileTotals> profile_totals(const std::vector<std::string>& profiles, const Window& window, SymbolCache& cache,
                                     const Events& wanted) {
    ProfileTotals sum;
    std::uint64_t most = 0;
    for (const std::string& path : profiles) {
        const auto profile = load(path, window, cache);
        if (!profile) return profile.error();
        const auto& events = profile->events;
        const auto has = [&events](std::string_view event) {
            return std::find(events.begin(), events.end(), event) != events.end();
        };
        if (wanted.waits && has(event_name::offcpu)) {
            if (const auto added = add_waits(path, window, cache, sum.waits); !added) return added.error();
        }
        if (wanted.allocations && has(event_name::alloc)) {
            if (const auto added = add_allocations(path, window, cache, sum.allocations); !added) return added.error();
        }
        const std::uint64_t of_each = weighs_nanoseconds(profile->run) ? 1 : 0;  // other weights are no time
        const Totals totals = function_totals(*profile);
        if (totals.samples > most) {
            most = totals.samples;
            sum.answer = answer(*profile);
        }
        sum.samples += total_hits(*profile);
        sum.sampled_ns += totals.samples * of_each;
        for (const auto& [name, amount] : profile->work) sum.work[name] += amount;
        sum.own_cpu_ns += profile->summary.own_cpu_ns;
        for (const FunctionTotal& function : totals.functions) {
            FunctionTime& time = sum.functions[display_name(*profile, function.function)];
            time.self_ns += function.self * of_each;
            time.total_ns += function.total * of_each;
        }
        sum.warnings.insert(sum.warnings.end(), profile->warnings.begin(), profile->warnings.end());
    }
    return sum;
}

Result<NamedProfile> profile_of_run(const std::vector<std::string>& profiles, const Window& window,
                                    const std::string& event) {
    ProfileMerger merged;
    for (const std::string& path : profiles) {
        auto filter = filter_of(path, window);
        if (!filter) return filter.error();
        Arguments arguments;
        arguments.filter = *filter;
        arguments.filter.event = event;
        Progress progress;
        auto profile = load_inputs({path}, arguments, progress);
        progress.clear();
        if (!profile || profiles.size() == 1) return profile;
        merged.add(*profile);
    }
    return merged.take();
}

Result<void> write_picture(const std::vector<PictureInput>& inputs, const std::string& title,
                           const std::string& subtitle, const std::string& path, SymbolCache& cache) {
    ProfileMerger merged;
    for (const PictureInput& input : inputs) {
        const auto profile = load(input.profile, input.window, cache);
        if (!profile) return profile.error();
        if (total_weight(*profile) > 0) merged.add(*profile);
    }
    OutputOptions options;
    options.graph.title = title;
    options.graph.subtitle = subtitle;
    options.graph.width =
        840;  // labels can be read where the report shows it small; all facts are in the page and beside it
    options.graph.brief = true;
    const auto format = format_by_path(path);
    if (!format) return format.error();
    NamedProfile all = merged.take();
    merge_threads(all);  // so that pictures of few and of many workers can be compared
    if (auto written = write_output(all, *format, path, options); !written) return written;
    return write_file(path.substr(0, path.rfind('.')) + ".txt", provenance_text(all));
}

Result<void> write_png_of(const std::string& svg_path, const std::string& png_path) {
    std::ifstream svg(svg_path, std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(svg), {}};
    if (!svg) return Error{svg_path + ": cannot be read"};
    std::string png;
    const auto drawn = write_image(text, ImageKind::png, [&png](std::string_view piece) { png += piece; });
    return drawn ? write_file(png_path, png) : drawn;
}

}  // namespace flameprobe::bench
