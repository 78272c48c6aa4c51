// A sink that keeps everything as text, one line a call: two profiles are equal if their lines are.
#pragma once

#include <sstream>
#include <string>
#include <vector>

#include "profile/record_fields.hpp"
#include "profile/sink.hpp"

namespace flameprobe::test {

class Recorded final : public ProfileSink {
public:
    std::vector<std::string> lines;

    void run(const RunInfo& info) override { add("run", info); }
    void string(std::uint32_t id, const std::string& text) override { line("string", id, text); }
    void mapping(MappingId id, const Mapping& mapping) override { add("mapping " + std::to_string(id), mapping); }
    void location(LocationId id, const Location& l) override { line("location", id, l.mapping, l.address); }
    void stack(StackId id, const StackNode& node) override { line("stack", id, node.parent, node.location); }
    void thread(ThreadId id, const Thread& thread) override { line("thread", id, thread.tid, thread.name); }
    void sample(const Sample& s) override { line("sample", s.time_ns, s.thread, s.stack, s.weight, s.hits); }
    void event(EventId id, const EventInfo& info) override { add("event " + std::to_string(id), info); }
    void event_sample(EventId event, const Sample& s) override {
        line("event sample", event, s.time_ns, s.thread, s.stack, s.weight, s.hits, s.age_ns);
    }
    void summary(const Summary& summary) override { add("summary", summary); }
    void symbols(LocationId id, const std::vector<ArchivedSymbol>& symbols) override {
        for (const auto& s : symbols) line("symbol", id, s.name, s.file, s.line, s.decl_line, s.inlined);
    }
    void host(const HostRecord& record) override {
        std::visit([&](const auto& of) { add("of the host, " + std::to_string(record.index()), of); }, record);
    }

private:
    template <class... Parts>
    void line(const Parts&... parts) {
        std::ostringstream out;
        ((out << parts << ' '), ...);
        lines.push_back(out.str());
    }
    template <class Record>
    void add(const std::string& what, const Record& record) {
        std::string bytes;
        FieldWriter writer(bytes);
        list_fields(writer, record);
        line(what, bytes);
    }
};

}  // namespace flameprobe::test
