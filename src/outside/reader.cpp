#include "outside/reader.hpp"

#include <algorithm>

#include "base/work_steps.hpp"

namespace flameprobe {

namespace {

constexpr std::string_view any_version = format::magic.substr(0, format::magic.size() - 1);

Error complain(const ByteSource& source, std::uint64_t offset, const std::string& why) {
    return Error{source.name() + ": offset " + std::to_string(offset) + ": " + why};
}

Result<void> read_magic(ByteSource& source) {
    std::string head;
    if (auto got = source.read(format::magic.size(), head); !got) return got.error();
    const bool whole = head.size() == format::magic.size() && head.starts_with(any_version);
    const unsigned version = whole ? static_cast<unsigned char>(head.back()) : 0;
    if (version == format::version) return {};
    if (head.empty())
        return Error{source.name() + ": is empty; the program may have ended before anything was written"};
    if (whole) {
        return Error{source.name() + ": is a .fprobe of format " + std::to_string(version) +
                     ", and this program reads format " + std::to_string(format::version) +
                     "; use the flameprobe-render of the version that wrote it"};
    }
    return complain(source, 0, "not a .fprobe: it does not begin with \"FPROBE\"");
}

/// Counts what is left, without keeping it.
Result<std::uint64_t> skip_rest(ByteSource& source) {
    std::uint64_t skipped = 0;
    for (;;) {
        std::string piece;
        auto got = source.read(64 * 1024, piece);
        if (!got) return got.error();
        if (*got == 0) return skipped;
        skipped += *got;
    }
}

Result<ReadOutcome> end_at(ByteSource& source, ReadOutcome outcome, std::uint64_t last_whole, std::string why) {
    const std::uint64_t taken = source.offset() - last_whole;
    auto rest = skip_rest(source);
    if (!rest) return rest.error();
    outcome.bytes_ignored = taken + *rest;
    if (outcome.bytes_ignored > 0) outcome.why_ignored = std::move(why);
    return outcome;
}

}  // namespace

Result<bool> is_profile(ByteSource& source) {
    auto head = source.peek(any_version.size());
    if (!head) return head.error();
    return *head == any_version;
}

Result<bool> has_more(ByteSource& source) {
    auto next = source.peek(1);
    if (!next) return next.error();
    return !next->empty();
}

Result<ReadOutcome> read_profile(ByteSource& source, ProfileSink& sink) {
    if (source.offset() == 0)
        if (auto good = read_magic(source); !good) return good.error();
    RecordReader records(sink);
    ReadOutcome outcome;
    std::string piece;
    for (;;) {
        const std::uint64_t start = source.offset();
        piece.clear();
        auto got = source.read(format::block_header_size, piece);
        if (!got) return got.error();
        if (*got < format::block_header_size) return end_at(source, outcome, start, "a block's header is cut short");
        BlockHeaderBytes bytes;
        std::ranges::copy(piece, bytes.begin());
        const BlockHeader header = parse_block_header(bytes);
        if (header.size > format::max_block_payload)
            return end_at(source, outcome, start, "a block's size makes no sense");
        piece.clear();
        if (got = source.read(header.size, piece); !got) return got.error();
        if (*got < header.size) return end_at(source, outcome, start, "a block is cut short");
        if (!checksum_matches(header, piece)) return end_at(source, outcome, start, "a block's checksum is wrong");
        ++outcome.blocks;
        work_step_done();
        if (header.type == static_cast<std::uint32_t>(format::BlockType::process)) return outcome;
        if (header.type != static_cast<std::uint32_t>(format::BlockType::records)) continue;
        if (auto read = records.read(std::as_bytes(std::span(piece))); !read) {
            return complain(source, start, "in the block that begins here, " + read.error().message);
        }
    }
}

Result<ReadOutcome> read_profile(const std::string& path, ProfileSink& sink) {
    auto source = ByteSource::open(path);
    if (!source) return source.error();
    return read_profile(*source, sink);
}

}  // namespace flameprobe
