#include "push/pieces.hpp"

namespace flameprobe::push {

Pieces::Pieces(NamedProfile& profile, const Labels& labels, const Settings& settings)
    : profile_(profile),
      options_{settings.threads, labels, false},
      settings_(settings),
      counts_(std::move(profile.counts)),
      left_{{0, counts_.size()}} {}

const Request* Pieces::current() {
    while (!request_ && !left_.empty()) {
        const Range range = left_.back();
        if (range.end - range.begin > most_samples && halve()) continue;
        profile_.counts.assign(counts_.begin() + static_cast<std::ptrdiff_t>(range.begin),
                               counts_.begin() + static_cast<std::ptrdiff_t>(range.end));
        request_ = request_for(profile_, options_, settings_);
        if (request_->profile_bytes > settings_.most_request_bytes) halve();
    }
    return request_ ? &*request_ : nullptr;
}

void Pieces::next() {
    request_.reset();
    left_.pop_back();
}

bool Pieces::halve() {
    const Range range = left_.back();
    if (range.end - range.begin < 2) return false;
    const std::size_t middle = range.begin + (range.end - range.begin) / 2;
    left_.back() = {middle, range.end};
    left_.push_back({range.begin, middle});
    request_.reset();
    return true;
}

}  // namespace flameprobe::push
