// Reads a `.fprobe` into a sink.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/byte_reader.hpp"
#include "base/result.hpp"
#include "outside/byte_stream.hpp"
#include "profile/format.hpp"
#include "profile/sink.hpp"

namespace flameprobe {

struct ReadOutcome {
    std::uint64_t blocks = 0;
    std::uint64_t bytes_ignored = 0;  // after the last whole block: the host was killed while it was being written
    std::string why_ignored;
};

/// Reads one process's profile into `sink`, block by block, in bounded memory: that of a `.fprobe`'s first process, or
/// of the next one where `source` stands before another (has_more()). Bytes after the last whole block are ignored and
/// reported. A file that is not a `.fprobe`, or whose blocks are whole but contradict each other, is an Error that
/// names the file, the offset and the reason. May throw what the sink throws, and std::bad_alloc.
Result<ReadOutcome> read_profile(const std::string& path, ProfileSink& sink);
Result<ReadOutcome> read_profile(ByteSource& source, ProfileSink& sink);

/// To be asked after read_profile(): whether the input goes on with another process.
Result<bool> has_more(ByteSource& source);

/// Whether the input begins as a `.fprobe` of any version.
Result<bool> is_profile(ByteSource& source);

/// For sinks that want some kinds of records only. The others go on to `rest`, as they are, or nowhere.
/// (Sample is qualified since some commands have their own.)
class PartialSink : public ProfileSink {
public:
    explicit PartialSink(ProfileSink* rest = nullptr) : rest_(rest) {}

    void run(const RunInfo& info) override { pass(&ProfileSink::run, info); }
    void string(std::uint32_t id, const std::string& text) override { pass(&ProfileSink::string, id, text); }
    void mapping(MappingId id, const Mapping& mapping) override { pass(&ProfileSink::mapping, id, mapping); }
    void location(LocationId id, const Location& location) override { pass(&ProfileSink::location, id, location); }
    void stack(StackId id, const StackNode& node) override { pass(&ProfileSink::stack, id, node); }
    void thread(ThreadId id, const Thread& thread) override { pass(&ProfileSink::thread, id, thread); }
    void sample(const flameprobe::Sample& sample) override { pass(&ProfileSink::sample, sample); }
    void summary(const Summary& summary) override { pass(&ProfileSink::summary, summary); }
    void symbols(LocationId id, const std::vector<ArchivedSymbol>& symbols) override {
        pass(&ProfileSink::symbols, id, symbols);
    }
    void event(EventId id, const EventInfo& info) override { pass(&ProfileSink::event, id, info); }
    void event_sample(EventId event, const flameprobe::Sample& sample) override {
        pass(&ProfileSink::event_sample, event, sample);
    }
    void host(const HostRecord& record) override { pass(&ProfileSink::host, record); }

private:
    virtual void passed_on() {}
    template <class... Parameters, class... Arguments>
    void pass(void (ProfileSink::*call)(Parameters...), const Arguments&... arguments) {
        if (rest_ == nullptr) return;
        (rest_->*call)(arguments...);
        passed_on();
    }

    ProfileSink* rest_;
};

/// From the bytes of a block to calls on a sink. Nothing a hostile file says is believed: every id is checked before it
/// is passed on. Carries from block to block what differences are relative to. Memory: 16 bytes a mapping.
class RecordReader {
public:
    explicit RecordReader(ProfileSink& sink) : sink_(sink) {}

    /// All records of one block's payload. The Error's message begins with "at byte N of the block's records:".
    Result<void> read(std::span<const std::byte> payload);

private:
    /// Why the record is bad, nullptr if it is not.
    using Complaint = const char*;
    struct KnownMapping {
        MappingKind kind;
        std::uint64_t last_address;
    };

    Complaint record(ByteReader& in);
    Complaint sample(ByteReader& in, std::uint64_t thread, bool weighted);
    Complaint stack(std::uint64_t location, std::uint64_t parent);
    Complaint location(ByteReader& in, std::uint64_t mapping);
    Complaint extended(ByteReader& in, std::uint64_t kind);
    Complaint extended_fields(ByteReader& in, format::ExtendedKind kind);
    template <class Record, class Use>
    Complaint pass(ByteReader& in, Use use);
    template <class... Records>
    Complaint host(ByteReader& in, format::ExtendedKind kind, const std::variant<Records...>* types);
    Complaint thread(ByteReader& in);
    Complaint symbols(ByteReader& in);
    Complaint event(ByteReader& in);
    Complaint event_sample(ByteReader& in);

    ProfileSink& sink_;
    std::vector<KnownMapping> mappings_;
    std::uint32_t strings_ = 0;
    std::uint32_t locations_ = 0;
    std::uint32_t stacks_ = 0;
    std::uint32_t threads_ = 0;
    std::uint32_t events_ = 1;  // the run's own is 0
    std::uint64_t last_time_ns_ = 0;
    std::uint64_t last_event_time_ns_ = 0;
    std::uint64_t next_hits_ = 1;  // of the sample that follows
};

}  // namespace flameprobe
