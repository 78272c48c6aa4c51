#include "loader.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "inputs.hpp"
#include "outside/reader.hpp"
#include "profile/format.hpp"
#include "render/run_facts.hpp"
#include "symbolize/symbol_cache.hpp"
#include "text_input.hpp"

namespace flameprobe {

bool can_be_read_twice(const std::string& path) {
    struct stat status {};
    return path != "-" && ::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode);
}

void Loader::learn_names(const std::vector<std::string>& paths) {
    std::vector<std::string> files;
    std::copy_if(paths.begin(), paths.end(), std::back_inserter(files), can_be_read_twice);
    const std::string name = std::to_string(files.size()) + " files";
    warnings_ = flameprobe::learn_names(files, symbolize_options(arguments_, progress_, name), names_);
}

Result<void> Loader::add(const std::string& path) {
    auto source = ByteSource::open(path);
    if (!source) return source.error();
    const auto binary = is_profile(*source);
    if (!binary) return binary.error();
    // An empty or damaged .fprobe is not taken for folded stacks.
    return *binary || path.ends_with(".fprobe") ? add_profiles(*source) : add_folded(*source);
}

Result<void> Loader::add_profiles(ByteSource& source) {
    for (bool more = true; more;) {
        if (auto added = add_profile(source); !added) return added;
        const auto follows = has_more(source);
        if (!follows) return follows.error();
        more = *follows;
    }
    return {};
}

/// A stretch of time is the run's; each process counts from its own start.
SampleFilter Loader::filter_for(const ByteSource& source) const {
    SampleFilter filter = arguments_.filter;
    if (!clock_ || (!filter.from_ns && !filter.to_ns)) return filter;
    const auto begin = std::max<std::uint64_t>(source.offset(), format::magic.size());
    const auto part = std::ranges::find_if(
        run_, [&](const ProcessPart& one) { return one.path == source.name() && one.begin == begin; });
    if (part == run_.end()) return filter;
    const std::uint64_t start = clock_->start_of(part->run);
    for (auto* const time : {&filter.from_ns, &filter.to_ns})
        if (*time) *time = std::max(**time, start) - start;
    return filter;
}

Result<void> Loader::add_profile(ByteSource& source) {
    SymbolizeOptions options = symbolize_options(arguments_, progress_, source.name());
    // Names are also what several are merged by, which of a pipe shows late, and what is cut by.
    if (arguments_.info && !several_ && arguments_.cut.description().empty() && can_be_read_twice(source.name()))
        options.names_wanted = facts_need_names;
    const SampleFilter filter = filter_for(source);
    auto loaded = load_profile(source, filter, options, several_ ? &names_ : nullptr);
    if (!loaded) return loaded.error();
    const bool others = arguments_.filter.others;
    if (arguments_.filter.pid && (loaded->run.pid != *arguments_.filter.pid) != others) return {};
    const auto is_called = [&](const std::string& name) { return matches_expression(arguments_.process, name); };
    const auto is_wanted = [&] {
        return is_called(program_name(loaded->run)) ||
               (process_names_ != nullptr && is_called(process_names_->name(loaded->run)));
    };
    if (!arguments_.process.empty() && is_wanted() == others) return {};
    const auto has_nothing = [](const NamedProfile& profile) { return profile.counts.empty() && profile.work.empty(); };
    // The first stays, to say which run it is.
    const bool windowed = filter.from_ns || filter.to_ns;
    if (windowed && merged_.inputs() != 0 && has_nothing(*loaded)) return {};
    if (process_names_ != nullptr) shares_.push_back(put_process_first(*loaded, *process_names_));
    for (const std::string& event : loaded->shown_events)
        if (std::find(shown_.begin(), shown_.end(), event) == shown_.end()) shown_.push_back(event);
    // Of a run in which one process was sampled the others may have something to add up, or nothing.
    if (only_ && has_nothing(*loaded)) return {};
    if (only_ && has_nothing(*only_)) only_.reset();
    // What comes through a pipe shows only now that it has several.
    if (only_) merged_.add(*std::exchange(only_, std::nullopt));
    if (several_ || merged_.inputs() != 0) {
        merged_.add(*loaded);
    } else {
        only_ = std::move(*loaded);
    }
    return {};
}

Result<void> Loader::add_folded(ByteSource& source) {
    if (arguments_.tree)
        return Error{source.name() + ": folded stacks do not say of which process they are: give the .fprobe"};
    const SampleFilter& filter = arguments_.filter;
    if (!filter.event.empty())
        return Error{source.name() + ": folded stacks do not say of which event they are: give the .fprobe"};
    if (filter.from_ns || filter.to_ns || filter.pid || !arguments_.process.empty()) {
        return Error{source.name() + ": folded stacks have neither times nor processes to select by; give the .fprobe"};
    }
    if (reader_) {
        reader_->next_input(source.name());
    } else {
        reader_.emplace(folded_, source.name());
    }
    return read_text_input(source, *reader_, folded_.warnings);
}

NamedProfile Loader::take() {
    NamedProfile profile = take_merged();
    profile.shares = by_process(shares_);
    return profile;
}

NamedProfile Loader::take_merged() {
    if (only_) return std::move(*only_);
    if (reader_) keep_wanted(folded_, arguments_.filter);
    if (merged_.inputs() == 0) {
        if (folded_.nodes.empty()) folded_.nodes.emplace_back();
        return std::move(folded_);
    }
    if (reader_) merged_.add(folded_);
    NamedProfile merged = merged_.take();
    merged.shown_events = shown_;
    merged.warnings.insert(merged.warnings.begin(), warnings_.begin(), warnings_.end());
    return merged;
}

}  // namespace flameprobe
