#include "growing_profile.hpp"

#include <sys/stat.h>

#include <algorithm>

#include "base/clock.hpp"
#include "base/output_directory.hpp"
#include "base/proc.hpp"
#include "render/function_totals.hpp"

namespace flameprobe {

namespace {

std::uint64_t size_of(const OpenProfile& profile) {
    struct stat status {};
    return ::fstat(profile.file.get(), &status) == 0 ? static_cast<std::uint64_t>(status.st_size) : 0;
}

bool is_same(const OpenProfile& one, const OpenProfile& other) {
    struct stat first {
    }, second{};
    return ::fstat(one.file.get(), &first) == 0 && ::fstat(other.file.get(), &second) == 0 && same_file(first, second);
}

}  // namespace

bool GrowingProfile::running() const { return is_running(pid_); }

bool GrowingProfile::has_grown(std::uint64_t since) { return !look() || size_of(*profile_) != since; }

/// Whether the file's name leads to another one, as after it was written anew to be smaller.
bool GrowingProfile::is_replaced() const {
    struct stat open {
    }, named{};
    return ::fstat(profile_->file.get(), &open) == 0 && ::lstat(profile_->path.c_str(), &named) == 0 &&
           !same_file(open, named);
}

std::chrono::milliseconds GrowingProfile::pause() const {
    using namespace std::chrono;
    return std::clamp(duration_cast<milliseconds>((looked_ + took_) * 9), milliseconds(1000), milliseconds(60'000));
}

Result<void> GrowingProfile::find() { return profile_ && !is_replaced() ? Result<void>() : look(); }

// It takes milliseconds where there are many processes.
Result<void> GrowingProfile::look() {
    const auto begin = std::chrono::steady_clock::now();
    auto found = profile_of_process(pid_);
    looked_ = std::chrono::steady_clock::now() - begin;
    if (!found) return profile_ ? Result<void>() : found.error();
    if (profile_ && is_same(*found, *profile_)) return {};
    profile_.emplace(std::move(*found));
    size_ = start_unix_ns_ = ended_ns_ = 0;
    return {};
}

Result<NamedProfile> GrowingProfile::load(const SampleFilter& filter) {
    ByteSource source = profile_->from_start();
    return load_profile(source, filter, {}, &names_);
}

// A program that only waits, in a deadlock for one, has no sample of CPU time.
Result<NamedProfile> GrowingProfile::load_with_samples(SampleFilter filter) {
    auto first = load(filter);
    if (!first || !filter.event.empty() || total_weight(*first) != 0) return first;
    for (const bool idle : {false, true}) {
        filter.idle = idle;
        for (const std::string& event : first->shown_events) {
            filter.event = event;
            if (auto other = load(filter); other && total_weight(*other) != 0) return other;
        }
    }
    return first;
}

Result<NamedProfile> GrowingProfile::read(std::optional<std::uint64_t> window_ns, bool times,
                                          const std::string& event) {
    if (auto there = look(); !there) return there.error();
    const auto begin = std::chrono::steady_clock::now();
    size_ = size_of(*profile_);
    SampleFilter filter;
    filter.times = times;
    filter.event = event;
    if (window_ns && start_unix_ns_ > 0) {
        const std::uint64_t now = read_clock(CLOCK_REALTIME);
        const std::uint64_t last = ended_ns_ > 0 ? ended_ns_ : now - std::min(now, start_unix_ns_);
        filter.from_ns = last - std::min(last, *window_ns);
    }
    auto profile = load_with_samples(filter);
    if (profile && start_unix_ns_ == 0) start_unix_ns_ = profile->run.start_unix_ns;
    if (profile && profile->summary.complete && !filter.from_ns) ended_ns_ = profile->summary.duration_ns;
    took_ = std::chrono::steady_clock::now() - begin;
    // The warning that the file is still being written is not shown here.
    if (profile)
        std::erase_if(profile->warnings,
                      [](const std::string& text) { return text.find("bytes are not used") != text.npos; });
    return profile;
}

}  // namespace flameprobe
