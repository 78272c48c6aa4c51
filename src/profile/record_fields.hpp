// The fields of extended records, listed once for writing and reading. Records that begin with an id (thread, symbols,
// event, event_sample) and the smallest (string, hits) are in writer.cpp and record_reader.cpp.
// A field is only ever added at the end of a record, never of a list's item. A reader that knows fewer fields ignores
// the rest; one that knows more keeps its defaults. No number is negative: one that may be is written by zigzag().
#pragma once

#include <concepts>
#include <cstdint>
#include <map>
#include <string>
#include <type_traits>
#include <vector>

#include "base/varint.hpp"
#include "profile/format.hpp"
#include "profile/model.hpp"

namespace flameprobe {

class FieldWriter {
public:
    explicit FieldWriter(std::string& out) : out_(out) {}

    template <std::integral T>
    void operator()(const T& value) {
        put_varint(out_, value);
    }
    void operator()(const MappingKind& kind) { put_varint(out_, static_cast<std::uint64_t>(kind)); }
    void operator()(const std::string& text) { put_string(out_, text); }
    template <class T>
    void operator()(const std::vector<T>& items) {
        put_varint(out_, items.size());
        for (const T& item : items) list_fields(*this, item);
    }
    void operator()(const std::map<std::string, std::uint64_t>& items) {
        put_varint(out_, items.size());
        for (const auto& [name, value] : items) {
            put_string(out_, name);
            put_varint(out_, value);
        }
    }

private:
    std::string& out_;
};

template <class Record, class Type>
concept FieldsOf = std::same_as<std::remove_const_t<Record>, Type>;

template <class Codec, FieldsOf<RunFact> Record>
void list_fields(Codec& field, Record& fact) {
    field(fact.name), field(fact.value);
}

template <class Codec, FieldsOf<RunInfo> Record>
void list_fields(Codec& field, Record& run) {
    std::uint8_t in_nanoseconds = 1;  // the weights of a clock, in every profile
    field(run.version), field(run.command), field(run.executable), field(run.host);
    field(run.pid), field(run.parent_pid), field(run.start_unix_ns);
    field(run.engine), field(run.engine_reason), field(run.unwinder);
    field(run.event), field(run.event_kind), field(run.kernel);
    field(run.frequency_asked), field(run.period_ns), field(run.stack_bytes);
    field(run.facts), field(run.shown), field(run.labels), field(run.place);
    field(run.start_monotonic_ns), field(in_nanoseconds), field(run.mark);
}

template <class Codec, FieldsOf<EventInfo> Record>
void list_fields(Codec& field, Record& event) {
    field(event.name), field(event.kind), field(event.frequency_asked), field(event.period_ns);
}

template <class Codec, FieldsOf<Mapping> Record>
void list_fields(Codec& field, Record& mapping) {
    field(mapping.kind), field(mapping.start), field(mapping.size), field(mapping.file_offset), field(mapping.since_ns);
    field(mapping.path), field(mapping.build_id);
    field(mapping.file.device), field(mapping.file.inode), field(mapping.file.size), field(mapping.file.time_ns);
}

template <class Codec, FieldsOf<ThreadAccount> Record>
void list_fields(Codec& field, Record& account) {
    field(account.thread), field(account.cpu_ns), field(account.samples);
}

template <class Codec, FieldsOf<Summary> Record>
void list_fields(Codec& field, Record& summary) {
    field(summary.complete), field(summary.duration_ns), field(summary.samples), field(summary.lost);
    field(summary.truncated), field(summary.rooted), field(summary.throttled), field(summary.frames);
    field(summary.continued), field(summary.continuation_rejected);
    field(summary.process_cpu_ns), field(summary.own_cpu_ns), field(summary.own_memory);
    field(summary.threads), field(summary.counters), field(summary.hits);
    field(summary.truncated_hits), field(summary.title);
}

template <class Codec, FieldsOf<ArchivedSymbol> Record>
void list_fields(Codec& field, Record& symbol) {
    field(symbol.name), field(symbol.file), field(symbol.line), field(symbol.decl_line), field(symbol.inlined);
}

/// Of a HostRecord.
template <class Record>
inline constexpr format::ExtendedKind kind_of{};
template <>
inline constexpr auto kind_of<Death> = format::ExtendedKind::death;
template <>
inline constexpr auto kind_of<WorkCount> = format::ExtendedKind::count;

template <>
inline constexpr auto kind_of<RequestTimes> = format::ExtendedKind::requests;
template <>
inline constexpr auto kind_of<Passing> = format::ExtendedKind::passing;

template <class Codec, FieldsOf<WorkCount> Record>
void list_fields(Codec& field, Record& count) {
    field(count.time_ns), field(count.name), field(count.amount);
}

template <class Codec, FieldsOf<RequestTimes> Record>
void list_fields(Codec& field, Record& requests) {
    field(requests.time_ns), field(requests.label), field(requests.failed), field(requests.sum_ns);
    field(requests.longest_ns), field(requests.unseen), field(requests.cells), field(requests.coarse);
}

template <class Codec, FieldsOf<Passing> Record>
void list_fields(Codec& field, Record& passing) {
    field(passing.thread), field(passing.label), field(passing.begin_ns), field(passing.ns), field(passing.flags);
}

template <class Codec, FieldsOf<Death> Record>
void list_fields(Codec& field, Record& death) {
    field(death.signal), field(death.code), field(death.tid), field(death.fault_address), field(death.time_ns);
    field(death.addresses);
}

// So that a list of plain numbers is a list of records with one field.
template <class Codec, FieldsOf<std::uint64_t> Record>
void list_fields(Codec& field, Record& value) {
    field(value);
}

}  // namespace flameprobe
