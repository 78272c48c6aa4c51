// What an engine's answer means for the windows that were sent.
#pragma once

#include <string_view>

#include "push/http_client.hpp"
#include "push/settings.hpp"

namespace flameprobe::push {

enum class Verdict {
    accepted,
    later,      // worth another try
    too_large,  // in smaller pieces perhaps
    refused,
};

/// 2xx is accepted, and 409 that says that the engine has it already. Worth another try: no answer, 408, 425, 429, 499,
/// 5xx, and 409 and 422 that say so: Pyroscope answers 422 while it starts, with gRPC's "unavailable" in the text. 413
/// is too large. All else is refused: a redirection, a 2xx of OTLP that says that profiles were rejected, and one with
/// a page of HTML where an engine's own protocol is spoken: that URL is not the engine's.
Verdict verdict_of(const Answer& answer, Protocol protocol);

/// What an ExportProfilesServiceResponse (protobuf) says about rejected profiles; nothing if none were.
/// opentelemetry.io/docs/specs/otlp/#partial-success: they must not be sent again.
std::string rejection_in(std::string_view response);

}  // namespace flameprobe::push
