// From the bytes of a block to calls on a sink. Nothing a hostile file says is believed: every id is checked before it
// is passed on.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.hpp"
#include "outside/byte_reader.hpp"
#include "profile/format.hpp"
#include "profile/sink.hpp"

namespace flameprobe {

/// Carries from block to block what differences are relative to. Memory: 16 bytes a mapping.
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
