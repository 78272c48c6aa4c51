#include "outside/processes.hpp"

#include <algorithm>

#include "outside/partial_sink.hpp"
#include "outside/reader.hpp"
#include "profile/format.hpp"

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
    using PartialSink::count;
    void count(const Sample& sample) {
        into_.hits = add_saturated(into_.hits, sample.hits);
        into_.has_samples = true;
    }

    ProcessPart& into_;
};

}  // namespace

Result<std::vector<ProcessPart>> processes_of(const std::string& path) {
    auto source = ByteSource::open(path);
    if (!source) return source.error();
    std::vector<ProcessPart> parts;
    for (bool more = true; more;) {
        ProcessPart part;
        part.path = path;
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

}  // namespace flameprobe
