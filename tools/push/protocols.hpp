// How each engine wants a profile.
#pragma once

#include <vector>

#include "push/http_client.hpp"
#include "push/settings.hpp"
#include "symbolize/named_profile.hpp"

namespace flameprobe::push {

/// Pyroscope takes 16,000 samples in one profile; a profile with more is several requests.
inline constexpr std::size_t most_samples = 15'000;

/// The requests that bring `profile` to the engine. `labels` has service_name. The profile is as before afterwards.
std::vector<Request> requests_for(NamedProfile& profile, const Labels& labels, const Settings& settings);

/// "a b" is "a%20b" (RFC 3986).
std::string url_encoded(const std::string& text);

}  // namespace flameprobe::push
