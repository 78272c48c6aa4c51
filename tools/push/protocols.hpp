// How each server wants a profile, and what its answer means for the windows that were sent.
#pragma once

#include <string>
#include <string_view>

#include "http_client.hpp"
#include "settings.hpp"
#include "symbolize/named_profile.hpp"

namespace flameprobe::push {

/// The request that sends `profile` to the server. options.labels has service_name.
Request request_for(const NamedProfile& profile, const ServerOptions& options, const Settings& settings);

enum class Verdict {
    accepted,
    later,      // worth another try
    too_large,  // in smaller pieces perhaps
    refused,
};

/// Accepted: 2xx, and 409 that says that the server has the profile already. Worth another try: no answer, 408, 425,
/// 429, 499, 5xx, and 409 and 422 with a temporary failure in the text: Pyroscope answers 422 while it starts, with
/// gRPC's "unavailable". Too large: 413. All other answers are refusals: redirections, a 2xx of OTLP that says that
/// profiles were rejected, and a page of HTML, since that URL is not the server's.
Verdict verdict_of(const Answer& answer, Protocol protocol);

/// What an ExportProfilesServiceResponse (protobuf) says about rejected profiles; nothing if none were.
/// opentelemetry.io/docs/specs/otlp/#partial-success: they must not be sent again.
std::string rejection_in(std::string_view response);

}  // namespace flameprobe::push
