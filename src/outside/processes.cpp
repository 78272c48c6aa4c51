#include "outside/processes.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <span>

#include "base/descriptor.hpp"
#include "outside/reader.hpp"
#include "profile/format.hpp"
#include "profile/record_fields.hpp"

namespace flameprobe {

namespace {

class FactsOnly final : public PartialSink {
public:
    explicit FactsOnly(ProcessPart& into) : into_(into) {}
    void run(const RunInfo& info) override { into_.run = info; }
    void mapping(MappingId /*id*/, const Mapping& mapping) override {
        if (mapping.path == into_.run.executable && !into_.executable) into_.executable = mapping;
    }
    void sample(const Sample& sample) override {
        into_.weight = add_saturated(into_.weight, sample.weight);
        count(sample);
    }
    void event_sample(EventId /*event*/, const Sample& sample) override { count(sample); }
    void summary(const Summary& summary) override { into_.summary = summary; }

private:
    void count(const Sample& sample) {
        into_.hits = add_saturated(into_.hits, sample.hits);
        into_.has_samples = true;
    }

    ProcessPart& into_;
};

}  // namespace

Result<std::vector<ProcessPart>> processes_of(const std::string& path,
                                              const std::shared_ptr<const OutputDirectory>& in) {
    auto source = in ? ByteSource::of(in->open(last_name(path), O_RDONLY), path) : ByteSource::open(path);
    if (!source) return source.error();
    std::vector<ProcessPart> parts;
    for (bool more = true; more;) {
        ProcessPart part;
        part.path = path;
        part.in = in;
        part.begin = std::max<std::uint64_t>(source->offset(), format::magic.size());
        FactsOnly facts(part);
        const auto read = read_profile(*source, facts);
        if (!read) return read.error();
        const auto follows = has_more(*source);
        if (!follows) return follows.error();
        more = *follows;
        part.end = source->offset() - read->bytes_ignored - (more ? format::block_header_size : 0);
        parts.push_back(std::move(part));
    }
    return parts;
}

namespace {

Result<void> copy(const ProcessPart& part, const ByteSink& out) {
    constexpr std::size_t most = 256 * 1024;
    const Descriptor file = part.in ? part.in->open(last_name(part.path), O_RDONLY)
                                    : Descriptor(::open(part.path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    std::string piece;
    for (std::uint64_t offset = part.begin; file && offset < part.end; offset += piece.size()) {
        piece.resize(std::min<std::uint64_t>(most, part.end - offset));
        if (read_at(file.get(), offset, std::as_writable_bytes(std::span(piece))) != piece.size())
            return Error{part.path + ": became shorter while it was read"};
        out(piece);
    }
    if (!file) return Error{part.path + ": cannot be opened: " + error_text(errno)};
    return {};
}

}  // namespace

std::size_t count_processes(const std::string& path) {
    const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    const auto read = [&](std::uint64_t offset, auto& to) {
        return file && read_at(file.get(), offset, std::as_writable_bytes(std::span(to))) == to.size();
    };
    std::string head(format::magic.size(), '\0');
    std::size_t processes = 1;
    if (!read(0, head) || head != format::magic) return processes;
    BlockHeaderBytes bytes;
    for (std::uint64_t offset = head.size(); read(offset, bytes);) {
        const BlockHeader header = parse_block_header(bytes);
        if (header.size > format::max_block_payload) break;
        processes += header.type == static_cast<std::uint32_t>(format::BlockType::process) ? 1 : 0;
        offset += bytes.size() + header.size;
    }
    return processes;
}

std::string run_block(const RunInfo& run) {
    std::string fields, records;
    FieldWriter writer(fields);
    list_fields(writer, run);
    put_varint(records, static_cast<std::uint64_t>(format::ExtendedKind::run) << format::key_bits |
                            static_cast<std::uint64_t>(format::RecordKey::extended));
    put_string(records, fields);
    const BlockHeaderBytes header = make_block_header(format::BlockType::records, records);
    return std::string(header.data(), header.size()) + records;
}

Result<void> write_processes(const std::vector<ProcessPart>& parts, const ByteSink& out) {
    out(format::magic);
    for (const ProcessPart& part : parts) {
        if (&part != &parts.front()) {
            const BlockHeaderBytes header = make_block_header(format::BlockType::process, "");
            out({header.data(), header.size()});
        }
        if (auto copied = copy(part, out); !copied) return copied;
        if (!part.more.empty()) out(part.more);
    }
    return {};
}

}  // namespace flameprobe
