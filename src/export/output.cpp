#include "export/output.hpp"

#include <algorithm>
#include <exception>
#include <new>
#include <stdexcept>
#include <type_traits>

#include "export/output_file.hpp"

namespace flameprobe {

namespace {

using Writer = Result<void> (*)(const NamedProfile&, const OutputOptions&, const ByteSink&);

using Options = const OutputOptions&;

/// A writer that takes no options.
template <void (*write)(const NamedProfile&, const ByteSink&)>
Result<void> plain(const NamedProfile& profile, Options, const ByteSink& out) {
    write(profile, out);
    return {};
}
/// A writer that takes `part` of the options.
template <auto write, auto part>
Result<void> with(const NamedProfile& profile, Options options, const ByteSink& out) {
    if constexpr (std::is_void_v<decltype(write(profile, options.*part, out))>) {
        write(profile, options.*part, out);
        return {};
    } else {
        return write(profile, options.*part, out);
    }
}

constexpr Writer writer_of(Format format) {
    switch (format) {
        case Format::folded:
            return plain<write_folded>;
        case Format::svg:
            return with<write_svg, &OutputOptions::graph>;
        case Format::html:
            return with<write_html, &OutputOptions::graph>;
        case Format::pprof:
            return with<write_pprof, &OutputOptions::server>;
        case Format::speedscope:
            return plain<write_speedscope>;
        case Format::firefox:
            return plain<write_firefox>;
        case Format::otlp:
            return with<write_otlp, &OutputOptions::server>;
        case Format::otlp_json:
            return with<write_otlp_json, &OutputOptions::server>;
        case Format::json:
            return plain<write_json_summary>;
    }
    return nullptr;
}

constexpr const char* too_much =
    "it would be too large; make it of a part: flameprobe-render with --thread, --scope, --focus or --from and --to";

}  // namespace

Result<void> write_output(const NamedProfile& profile, Format format, const std::string& path,
                          const OutputOptions& options) {
    const bool has_samples =
        std::any_of(profile.counts.begin(), profile.counts.end(), [](const NamedCount& c) { return c.weight > 0; });
    if (!has_samples) return Error{path + ": not written: the profile has no samples"};
    try {
        OutputFile file(path);
        if (!file.failed()) {
            std::uint64_t left = options.most_bytes;
            const Result<void> written = writer_of(format)(profile, options, [&](std::string_view text) {
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
