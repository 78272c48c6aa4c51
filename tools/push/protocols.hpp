// How each engine wants a profile.
#pragma once

#include <string>

#include "push/http_client.hpp"
#include "push/settings.hpp"
#include "symbolize/named_profile.hpp"

namespace flameprobe::push {

/// The request that sends `profile` to the engine. options.labels has service_name.
Request request_for(const NamedProfile& profile, const EngineOptions& options, const Settings& settings);

/// "a b" is "a%20b" (RFC 3986).
std::string url_encoded(const std::string& text);

}  // namespace flameprobe::push
