#include <concepts>
#include <limits>
#include <map>
#include <string>
#include <type_traits>
#include <utility>

#include "outside/reader.hpp"
#include "profile/record_fields.hpp"

namespace flameprobe {

using format::ExtendedKind;
using format::RecordKey;

namespace {

class FieldReader {
public:
    explicit FieldReader(ByteReader& in) : in_(in) {}

    bool ok() const { return ok_ && in_.ok(); }

    template <std::integral T>
    void operator()(T& value) {
        if (in_.at_end()) return;
        const std::uint64_t read = in_.varint();
        if (read > std::uint64_t{std::numeric_limits<T>::max()}) ok_ = false;
        value = static_cast<T>(read);
    }
    void operator()(MappingKind& kind) {
        if (in_.at_end()) return;
        const std::uint64_t read = in_.varint();
        if (read > static_cast<std::uint64_t>(MappingKind::anonymous)) ok_ = false;
        kind = static_cast<MappingKind>(ok_ ? read : 0);
    }
    void operator()(std::string& text) {
        if (!in_.at_end()) text = in_.string();
    }
    // An item takes at least a byte, so a count beyond the bytes that are left is a lie: nothing is reserved for it.
    template <class T>
    void operator()(std::vector<T>& items) {
        items.clear();
        for (std::uint64_t left = count(); left > 0 && more(); --left) list_fields(*this, items.emplace_back());
    }
    void operator()(std::map<std::string, std::uint64_t>& items) {
        items.clear();
        for (std::uint64_t left = count(); left > 0 && more(); --left) {
            const std::string name = in_.string();
            items[name] = in_.varint();
        }
    }

private:
    bool more() {
        ok_ = ok_ && !in_.at_end();
        return ok();
    }
    std::uint64_t count() {
        if (in_.at_end()) return 0;
        const std::uint64_t read = in_.varint();
        if (read > in_.remaining()) ok_ = false;
        return ok_ ? read : 0;
    }

    ByteReader& in_;
    bool ok_ = true;
};

constexpr const char* cut_short = "the record is cut short, or a number in it is out of range";

}  // namespace

Result<void> RecordReader::read(std::span<const std::byte> payload) {
    ByteReader in(payload);
    while (!in.at_end()) {
        const std::size_t start = in.position();
        Complaint complaint = record(in);
        if (complaint == nullptr && !in.ok()) complaint = cut_short;
        if (complaint != nullptr) {
            return Error{"at byte " + std::to_string(start) + " of the block's records: " + complaint};
        }
    }
    return {};
}

RecordReader::Complaint RecordReader::record(ByteReader& in) {
    const std::uint64_t head = in.varint();
    const std::uint64_t first = head >> format::key_bits;
    switch (static_cast<RecordKey>(head & ((1u << format::key_bits) - 1))) {
        case RecordKey::sample:
            return sample(in, first, false);
        case RecordKey::child_stack:
            return stack(first, stacks_);
        case RecordKey::stack:
            return stack(first, in.varint());
        case RecordKey::location:
            return location(in, first);
        case RecordKey::weighted_sample:
            return sample(in, first, true);
        case RecordKey::extended:
            return extended(in, first);
    }
    return "a record of a kind that this version does not know";
}

RecordReader::Complaint RecordReader::sample(ByteReader& in, std::uint64_t thread, bool weighted) {
    const std::uint64_t time = last_time_ns_ + static_cast<std::uint64_t>(in.signed_varint());
    const std::uint64_t stack = in.varint();
    const std::uint64_t weight = weighted ? in.varint() : 1;
    if (!in.ok()) return cut_short;
    if (thread >= threads_) return "a sample of a thread that is not defined";
    if (stack > stacks_) return "a sample with a stack that is not defined";
    last_time_ns_ = time;
    sink_.sample(
        {time, static_cast<ThreadId>(thread), static_cast<StackId>(stack), weight, std::exchange(next_hits_, 1)});
    return nullptr;
}

RecordReader::Complaint RecordReader::stack(std::uint64_t location, std::uint64_t parent) {
    if (location >= locations_) return "a stack with a location that is not defined";
    if (parent > stacks_) return "a stack whose parent is not defined";
    if (stacks_ == ~StackId{0}) return "too many stacks";
    sink_.stack(++stacks_, {static_cast<StackId>(parent), static_cast<LocationId>(location)});
    return nullptr;
}

RecordReader::Complaint RecordReader::location(ByteReader& in, std::uint64_t mapping) {
    const std::int64_t step = in.signed_varint();
    if (!in.ok()) return cut_short;
    if (mapping >= mappings_.size()) return "a location in a mapping that is not defined";
    if (locations_ == ~LocationId{0}) return "too many locations";
    KnownMapping& known = mappings_[mapping];
    known.last_address += static_cast<std::uint64_t>(step);
    if (known.kind == MappingKind::scope && known.last_address >= strings_) return "a scope whose label is not defined";
    sink_.location(locations_++, {static_cast<MappingId>(mapping), known.last_address});
    return nullptr;
}

RecordReader::Complaint RecordReader::extended(ByteReader& in, std::uint64_t kind) {
    const auto body = in.take(in.varint());
    if (!in.ok()) return cut_short;
    ByteReader fields(body);
    const Complaint complaint = extended_fields(fields, static_cast<ExtendedKind>(kind));
    return complaint == nullptr && !fields.ok() ? cut_short : complaint;
}

template <class Record, class Use>
RecordReader::Complaint RecordReader::pass(ByteReader& in, Use use) {
    Record record;
    FieldReader field(in);
    list_fields(field, record);
    return field.ok() ? use(record) : cut_short;
}

template <class... Records>
RecordReader::Complaint RecordReader::host(ByteReader& in, ExtendedKind kind,
                                           const std::variant<Records...>* /*types*/) {
    Complaint complaint = nullptr;  // a kind of a later version is skipped
    const auto use = [&]<class Record>(const Record& record) -> Complaint {
        if constexpr (std::is_same_v<Record, Passing>) {
            if (record.thread >= threads_) return "a passing of a thread that is not defined";
            if (record.label >= strings_) return "a passing whose label is not defined";
        }
        return sink_.host(record), nullptr;
    };
    ((kind == kind_of<Records> ? void(complaint = pass<Records>(in, use)) : void()), ...);
    return complaint;
}

RecordReader::Complaint RecordReader::extended_fields(ByteReader& in, ExtendedKind kind) {
    FieldReader field(in);
    switch (kind) {
        case ExtendedKind::run:
            return pass<RunInfo>(in, [&](const RunInfo& run) -> Complaint { return sink_.run(run), nullptr; });
        case ExtendedKind::string: {
            std::string text;
            field(text);
            if (!field.ok()) return cut_short;
            sink_.string(strings_++, text);
            return nullptr;
        }
        case ExtendedKind::mapping:
            return pass<Mapping>(in, [&](const Mapping& mapping) -> Complaint {
                mappings_.push_back({mapping.kind, mapping.start});
                return sink_.mapping(static_cast<MappingId>(mappings_.size() - 1), mapping), nullptr;
            });
        case ExtendedKind::thread:
            return thread(in);
        case ExtendedKind::summary:
            return pass<Summary>(in, [&](const Summary& summary) -> Complaint {
                for (const ThreadAccount& account : summary.threads) {
                    if (account.thread >= threads_) return "a summary of a thread that is not defined";
                }
                return sink_.summary(summary), nullptr;
            });
        case ExtendedKind::symbols:
            return symbols(in);
        case ExtendedKind::hits:
            field(next_hits_);
            return nullptr;
        case ExtendedKind::event:
            return event(in);
        case ExtendedKind::event_sample:
            return event_sample(in);
        default:
            return host(in, kind, static_cast<const HostRecord*>(nullptr));
    }
}

RecordReader::Complaint RecordReader::thread(ByteReader& in) {
    ThreadId id = 0;
    Thread thread;
    FieldReader field(in);
    field(id), field(thread.tid), field(thread.name);
    if (!field.ok()) return cut_short;
    if (id > threads_) return "a thread that is out of order";
    if (id == threads_) ++threads_;
    sink_.thread(id, thread);
    return nullptr;
}

RecordReader::Complaint RecordReader::symbols(ByteReader& in) {
    LocationId id = 0;
    std::vector<ArchivedSymbol> symbols;
    FieldReader field(in);
    field(id), field(symbols);
    if (!field.ok()) return cut_short;
    if (id >= locations_) return "symbols of a location that is not defined";
    if (symbols.empty() || symbols.size() > format::max_symbols_per_location)
        return "a location with no symbol, or too many";
    for (const ArchivedSymbol& symbol : symbols) {
        if (symbol.name >= strings_ || symbol.file >= strings_) return "a symbol whose name is not defined";
    }
    sink_.symbols(id, symbols);
    return nullptr;
}

RecordReader::Complaint RecordReader::event(ByteReader& in) {
    EventId id = 0;
    EventInfo info;
    FieldReader field(in);
    field(id), list_fields(field, info);
    if (!field.ok()) return cut_short;
    if (id == 0 || id > events_) return "an event that is out of order";
    if (id == format::max_events) return "too many events";
    if (id == events_) ++events_;
    sink_.event(id, info);
    return nullptr;
}

RecordReader::Complaint RecordReader::event_sample(ByteReader& in) {
    EventId event = 0;
    std::uint64_t time = 0;
    Sample sample;
    FieldReader field(in);
    field(event), field(sample.thread), field(time), field(sample.stack), field(sample.weight), field(sample.hits);
    field(sample.age_ns);
    if (!field.ok()) return cut_short;
    if (event == 0 || event >= events_) return "a sample of an event that is not defined";
    if (sample.thread >= threads_) return "a sample of a thread that is not defined";
    if (sample.stack > stacks_) return "a sample with a stack that is not defined";
    sample.time_ns = last_event_time_ns_ += static_cast<std::uint64_t>(unzigzag(time));
    sink_.event_sample(event, sample);
    return nullptr;
}

}  // namespace flameprobe
