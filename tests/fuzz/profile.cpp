// A .fprobe, from its records to named stacks. The checksum is made right first: it keeps out chance, not malice, and a
// fuzzer would never get past it. Invariants beyond "no crash": ids are in range, and a parent comes before its child.
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "outside/byte_stream.hpp"
#include "profile/format.hpp"
#include "symbolize/load.hpp"

using namespace flameprobe;

namespace {

void require(bool holds) {
    if (!holds) std::abort();
}

/// The first byte says how the rest is cut into blocks; the blocks' headers are made to fit.
std::string as_file(const std::uint8_t* data, std::size_t size) {
    std::string file(format::magic);
    const std::size_t step = size == 0 ? 1 : (data[0] % 4 == 0 ? 16 : size);
    for (std::size_t at = 1; at < size; at += step) {
        const std::string payload(reinterpret_cast<const char*>(data) + at, std::min(step, size - at));
        const auto header = make_block_header(format::BlockType::records, payload);
        file.append(header.begin(), header.end()).append(payload);
    }
    return file;
}

void check(const NamedProfile& profile) {
    for (std::size_t id = 1; id < profile.nodes.size(); ++id) {
        require(profile.nodes[id].parent < id);
        require(profile.nodes[id].frame < profile.frames.size());
    }
    for (const NamedFrame& frame : profile.frames) require(frame.function < profile.functions.size());
    for (const Function& function : profile.functions) {
        for (const StringId text : {function.name, function.file, function.module})
            require(text < profile.strings.size());
    }
    for (const NamedCount& count : profile.counts) {
        require(count.node > 0 && count.node < profile.nodes.size());
        require(count.thread < profile.threads.size() && count.weight > 0);
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size > 1 << 16) return 0;
    FILE* file = std::tmpfile();
    if (file == nullptr) return 0;
    const std::string bytes = as_file(data, size);
    std::fwrite(bytes.data(), 1, bytes.size(), file);
    std::fflush(file);
    std::rewind(file);
    ByteSource source(Descriptor(dup(fileno(file))), "fuzz");
    SymbolizeOptions options;
    options.most_debug_bytes_in_all = 0;
    options.workers = 1;
    SampleFilter filter;
    if (size > 1 && data[0] % 8 == 5) filter.scope = "checkout";
    if (const auto profile = load_profile(source, filter, options)) check(*profile);
    std::fclose(file);
    return 0;
}
