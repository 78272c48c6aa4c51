#include "window_groups.hpp"

#include <algorithm>

#include "profile/names.hpp"
#include "symbolize/raw_profile.hpp"

namespace flameprobe::push {

namespace {

constexpr std::uint64_t stretch_ns = 15'000'000'000;

std::string key_of(const RunInfo& run, const Labels& labels) {
    std::string key = std::to_string(run.start_unix_ns / stretch_ns) + '\0' + run.event;
    for (const auto& [name, value] : labels) key += '\0' + name + '=' + value;
    return key;
}

/// Numbers of allocations, and what is alive at a window's end, are left out: bytes and the peak are sent.
bool is_beside_another(const std::string& event) {
    return is_number_of_allocations(event) || event.starts_with(event_name::heap_end);
}

/// A pod's host name is its own.
bool is_kubernetes(const RunInfo& run) {
    return std::any_of(run.facts.begin(), run.facts.end(), [](const RunFact& fact) {
        return fact.name == "container" && (fact.value == "kubepods" || fact.value == "kubernetes");
    });
}

/// Windows that are being merged. A single window keeps its addresses.
struct WindowMerge {
    WindowGroup group;
    std::optional<ProfileMerger> merger;

    void add(Window window, NamedProfile profile) {
        group.windows.push_back(std::move(window));
        if (group.windows.size() == 1) {
            group.profile = std::move(profile);
            return;
        }
        if (!merger) {
            merger.emplace();
            merger->add(group.profile);
        }
        merger->add(profile);
    }
    WindowGroup take() {
        if (merger) group.profile = merger->take();
        return std::move(group);
    }
};

}  // namespace

Labels WindowLoader::labels_of(const NamedProfile& profile) const {
    const RunInfo& run = profile.run;
    std::map<std::string, std::string> all;
    all["service_name"] = run.executable.substr(run.executable.rfind('/') + 1);
    all["host"] = run.host.substr(0, run.host.find(','));
    for (const RunFact& fact : run.facts)
        if (fact.name == "commit" && fact.value != "none") all["git_commit"] = fact.value;
    if (is_kubernetes(run)) all["pod"] = all["host"];
    for (const RunFact& label :
         run.labels)  // other users may have written the file: only what FLAMEPROBE_LABELS would take
        if (const auto own = parse_labels(label.name + '=' + label.value); own && own->size() == 1)
            all[own->front().first] = own->front().second;
    for (const auto& [key, value] : settings_.labels) all[key] = value;
    if (all["service_name"].empty()) all["service_name"] = "unknown";
    std::erase_if(all, [](const auto& label) { return label.second.empty(); });
    return {all.begin(), all.end()};
}

Result<NamedProfile> WindowLoader::load_one(const SpoolDirectory& spool, const std::string& name,
                                            const std::string& event) {
    auto file = spool.open_window(name);
    if (!file) return file.error();
    ByteSource source(std::move(*file), name);
    SymbolizeOptions options;
    options.paths_by_place = true;
    options.root_of = [this](const RunInfo& run) { return roots_.find(run.place, run.start_unix_ns); };
    SampleFilter filter;
    filter.event = event;
    return load_profile(source, filter, options, &cache_);
}

bool WindowLoader::is_done(const std::string& window, const std::string& event) {
    const auto left = left_.find(window);
    if (left == left_.end()) return true;
    left->second.erase(event);
    if (!left->second.empty()) return false;
    left_.erase(left);
    return true;
}

std::vector<WindowGroup> WindowLoader::load(const SpoolDirectory& spool, const std::vector<Window>& windows,
                                            std::vector<BadWindow>& bad) {
    roots_.forget();
    if (const auto now = std::chrono::steady_clock::now(); now >= cache_until_) {
        cache_ = SymbolCache();
        cache_until_ = now + std::chrono::hours(1);
    }
    std::map<std::string, WindowMerge> gathered;
    for (const Window& window : windows) {
        auto profile = load_one(spool, window.name, {});
        if (!profile || !profile->has_run) {
            bad.push_back({window.name, profile ? "it has no run" : profile.error().message});
            continue;
        }
        std::vector<std::string> events = profile->shown_events;
        const std::string loaded = events.front();
        if (!std::ranges::all_of(events, is_beside_another)) std::erase_if(events, is_beside_another);
        const auto left = left_.try_emplace(window.name, events.begin(), events.end()).first->second;
        for (const std::string& event : events) {
            if (!left.contains(event)) continue;
            if (event != loaded) profile = load_one(spool, window.name, event);
            if (!profile) break;  // it has gone: all of it comes again, or nothing
            Labels labels = profile->counts.empty() ? Labels{} : labels_of(*profile);
            WindowMerge& merge = gathered[key_of(profile->run, labels)];
            merge.group.labels = std::move(labels);
            merge.group.event = event;
            merge.add(window, std::move(*profile));
        }
    }
    std::vector<WindowGroup> groups;
    for (auto& [key, merge] : gathered) {
        groups.push_back(merge.take());
        // Pyroscope leaves out code without a name, and counts its time as its caller's own, so it gets
        // "[libfoo.so+0x1a2b40]".
        if (settings_.protocol == Protocol::pyroscope) groups.back().profile.locations.clear();
    }
    return groups;
}

}  // namespace flameprobe::push
