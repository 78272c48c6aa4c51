// Inputs that are no .fprobe: folded stacks, and what other profilers write.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "export/folded_reader.hpp"
#include "outside/byte_stream.hpp"

namespace flameprobe {

/// Reads folded stacks, the text of `perf script` or a pprof profile, gzip'ed or not, through `reader`. A byte order
/// mark and CRLF are taken off. Formats that are not read are an Error that says what they are and what makes one that
/// is. Remarks for the user go to `warnings`.
Result<void> read_text_input(ByteSource& source, FoldedReader& reader, std::vector<std::string>& warnings);

/// Of a format that is not read, what the user's file is and what to do: "is UTF-16: ..."; by the beginning of an
/// input, empty for what may be read.
std::string foreign_format(std::string_view head);

// The text of `perf script`, as folded stacks.

/// Whether the text begins as perf script's: "comm 4711 [000] 12.345678: 1000 cycles:u:".
bool is_perf_script(std::string_view head);

/// Turns lines into folded ones, a sample at a time: the thread's name, frames from the root, count 1.
class PerfScript {
public:
    /// A line without its end; what is finished is appended to `folded`.
    void line(std::string_view text, std::string& folded);
    void finish(std::string& folded);
    /// Samples of other events than the first, which are left out.
    std::uint64_t of_other_events() const { return others_; }
    const std::string& event() const { return event_; }
    /// Lines that should begin a sample and do not: what they would have begun is left out.
    std::uint64_t unread() const { return unread_; }

private:
    void begin(std::string_view thread, std::string_view event, std::string_view frame);

    bool in_sample_ = false, wanted_ = false;
    std::string thread_, event_;
    std::vector<std::string> frames_;  // from the leaf, with their suffixes
    std::uint64_t others_ = 0, unread_ = 0;
};

// A pprof profile (github.com/google/pprof, profile.proto), as folded stacks.

/// Whether the bytes, no longer compressed, begin as a pprof profile does.
bool is_pprof(std::string_view head);

struct FoldedPprof {
    std::string counted;       // "samples", "inuse_space in bytes"
    std::size_t negative = 0;  // samples below zero, which folded text cannot have: of a difference
};

/// Writes the stacks with their counts of samples, or where there are none with the value that pprof shows by default.
/// The Error is a reason without the file.
Result<FoldedPprof> fold_pprof(std::string_view bytes, const ByteSink& folded);

}  // namespace flameprobe
