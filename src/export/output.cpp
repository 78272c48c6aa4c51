#include "export/output.hpp"

#include <algorithm>
#include <cstddef>
#include <exception>
#include <new>
#include <stdexcept>
#include <type_traits>

#include "export/output_file.hpp"

namespace flameprobe {

namespace {

using Writer = Result<void> (*)(const NamedProfile&, const OutputOptions&, const ByteSink&);

/// Calls a writer with the part of the options that it takes.
template <auto write>
Result<void> by(const NamedProfile& profile, const OutputOptions& options, const ByteSink& out) {
    using Write = decltype(write);
    if constexpr (std::is_invocable_v<Write, const NamedProfile&, const FlameGraphOptions&, const ByteSink&>) {
        return write(profile, options.graph, out);
    } else if constexpr (std::is_invocable_v<Write, const NamedProfile&, const ServerOptions&, const ByteSink&>) {
        write(profile, options.server, out);
    } else {
        write(profile, out);
    }
    return {};
}

// In the order of Format.
#define FLAMEPROBE_WRITER_(value, name, ending, all_events) by<write_##value>,
constexpr Writer writers[] = {FLAMEPROBE_FORMATS(FLAMEPROBE_WRITER_)};
#undef FLAMEPROBE_WRITER_

constexpr const char* too_much =
    "it would be too large; make it of a part: flameprobe-render with --thread, --scope, --focus or --from and --to";

}  // namespace

Result<void> write_output(const NamedProfile& profile, Format format, const std::string& path,
                          const OutputOptions& options) {
    const bool has_samples = std::ranges::any_of(profile.counts, [](const NamedCount& c) { return c.weight > 0; });
    if (!has_samples) return Error{path + ": not written: the profile has no samples"};
    try {
        OutputFile file(path);
        if (!file.failed()) {
            std::uint64_t left = options.most_bytes;
            const Result<void> written =
                writers[static_cast<std::size_t>(format)](profile, options, [&](std::string_view text) {
                    if (text.size() > left) throw std::length_error(too_much);
                    left -= text.size();
                    file.write(text);
                });
            if (!written) return Error{path + ": not written: " + written.error().message};
        }
        return file.commit();
    } catch (const std::exception& error) {
        const bool no_memory = dynamic_cast<const std::bad_alloc*>(&error) != nullptr;
        return Error{path + ": not written: " + (no_memory ? "there is not enough memory" : error.what())};
    }
}

}  // namespace flameprobe
