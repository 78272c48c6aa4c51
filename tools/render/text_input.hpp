// Inputs that are no .fprobe: folded stacks, and what other profilers write.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "export/folded_reader.hpp"
#include "outside/byte_stream.hpp"

namespace flameprobe {

/// Reads folded stacks, the text of `perf script` or a pprof profile, gzip'ed or not, through `reader`. A byte order
/// mark and CRLF are taken off. Formats that are not read are an Error that says what they are and what makes one that
/// is. Remarks for the user go to `warnings`.
Result<void> read_text_input(ByteSource& source, FoldedReader& reader, std::vector<std::string>& warnings);

}  // namespace flameprobe
