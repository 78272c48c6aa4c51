#include <algorithm>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/binary_text.hpp"
#include "export/text.hpp"
#include "protobuf_fields.hpp"
#include "text_input.hpp"

namespace flameprobe {

namespace {

using Bytes = std::span<const std::byte>;

/// A repeated number, packed or not.
void add_numbers(std::uint64_t value, Bytes packed, std::vector<std::uint64_t>& into) {
    if (packed.empty()) return into.push_back(value);
    for (ByteReader in(packed); in.ok() && !in.at_end();) into.push_back(in.varint());
}

class Pprof {
public:
    bool read(Bytes bytes) {
        bool whole = true;
        const bool read = each_field(bytes, [&](std::uint64_t number, std::uint64_t value, Bytes field) {
            if (number == 1) whole = value_type(field) && whole;
            if (number == 2) samples_.push_back(field);
            if (number == 4) whole = location(field) && whole;
            if (number == 5) whole = function(field) && whole;
            if (number == 6) strings_.emplace_back(reinterpret_cast<const char*>(field.data()), field.size());
            if (number == 14) default_type_ = value;
        });
        return read && whole;
    }

    std::string choose() {
        if (types_.empty()) return {};
        chosen_ = types_.size() - 1;
        for (std::size_t i = 0; i < types_.size(); ++i) {
            if (default_type_ != 0 && types_[i].first == default_type_) chosen_ = i;
        }
        // Time has no unit in folded text: the samples that it was measured by have none either.
        if (text(types_[chosen_].second) == "nanoseconds") {
            for (std::size_t i = 0; i < types_.size(); ++i) {
                if (text(types_[i].first) == "samples") chosen_ = i;
            }
        }
        const std::string_view name = text(types_[chosen_].first), unit = text(types_[chosen_].second);
        return std::string(name) + (unit == "count" || unit.empty() ? "" : " in " + std::string(unit));
    }

    bool fold(const ByteSink& folded) {
        bool whole = true;
        for (const Bytes sample : samples_) {
            std::vector<std::uint64_t> locations, values;
            whole = each_field(sample,
                               [&](std::uint64_t number, std::uint64_t value, Bytes field) {
                                   if (number == 1) add_numbers(value, field, locations);
                                   if (number == 2) add_numbers(value, field, values);
                               }) &&
                    whole;
            const auto value = chosen_ < values.size() ? static_cast<std::int64_t>(values[chosen_]) : 0;
            if (value < 0) ++negative_;
            if (value <= 0 || locations.empty()) continue;
            std::string line;
            for (auto id = locations.rbegin(); id != locations.rend(); ++id) add_location(*id, line);
            folded(line + " " + std::to_string(value) + "\n");
        }
        return whole;
    }

    std::size_t negative() const { return negative_; }

private:
    std::string_view text(std::uint64_t id) const { return id < strings_.size() ? strings_[id] : std::string_view(); }

    bool value_type(Bytes field) {
        auto& type = types_.emplace_back();
        return each_field(field, [&](std::uint64_t number, std::uint64_t value, Bytes) {
            if (number == 1) type.first = value;
            if (number == 2) type.second = value;
        });
    }
    bool location(Bytes field) {
        std::uint64_t id = 0, address = 0;
        std::vector<std::uint64_t> functions;  // inlined ones first
        bool whole = each_field(field, [&](std::uint64_t number, std::uint64_t value, Bytes line) {
            if (number == 1) id = value;
            if (number == 3) address = value;
            if (number != 4) return;
            each_field(line, [&](std::uint64_t inner, std::uint64_t function, Bytes) {
                if (inner == 1) functions.push_back(function);
            });
        });
        locations_[id] = {address, std::move(functions)};
        return whole;
    }
    bool function(Bytes field) {
        std::uint64_t id = 0, name = 0, system_name = 0;
        const bool whole = each_field(field, [&](std::uint64_t number, std::uint64_t value, Bytes) {
            if (number == 1) id = value;
            if (number == 2) name = value;
            if (number == 3) system_name = value;
        });
        functions_[id] = name != 0 ? name : system_name;
        return whole;
    }
    void add_location(std::uint64_t id, std::string& line) const {
        const auto add = [&line](std::string_view name, FrameKind kind) {
            line += (line.empty() ? "" : ";") + folded_name(name, kind);
        };
        const auto found = locations_.find(id);
        const auto* functions = found == locations_.end() ? nullptr : &found->second.functions;
        if (functions == nullptr || functions->empty()) {
            return add("[" + hex_number(functions == nullptr ? 0 : found->second.address) + "]", FrameKind::user);
        }
        for (auto function = functions->rbegin(); function != functions->rend(); ++function) {
            const auto name = functions_.find(*function);
            add(name == functions_.end() ? "" : text(name->second),
                function == functions->rbegin() ? FrameKind::user : FrameKind::inlined);
        }
    }

    struct Location {
        std::uint64_t address = 0;
        std::vector<std::uint64_t> functions;
    };
    std::vector<std::pair<std::uint64_t, std::uint64_t>> types_;  // name and unit
    std::vector<Bytes> samples_;
    std::unordered_map<std::uint64_t, Location> locations_;
    std::unordered_map<std::uint64_t, std::uint64_t> functions_;
    std::vector<std::string_view> strings_;
    std::uint64_t default_type_ = 0;
    std::size_t chosen_ = 0;
    std::size_t negative_ = 0;  // samples
};

}  // namespace

bool is_pprof(std::string_view head) {
    // Field 1, a message of a few bytes that begins with its own field 1: the first sample type.
    return head.size() > 4 && head[0] == 0x0a && head[1] >= 2 && head[1] < 0x20 && head[2] == 0x08;
}

Result<FoldedPprof> fold_pprof(std::string_view bytes, const ByteSink& folded) {
    Pprof profile;
    if (!profile.read(std::as_bytes(std::span(bytes))))
        return Error{"is no whole pprof profile: it is damaged or cut off"};
    std::string counted = profile.choose();
    if (counted.empty()) return Error{"is a pprof profile without sample types"};
    if (!profile.fold(folded)) return Error{"is a pprof profile with a damaged sample"};
    return FoldedPprof{std::move(counted), profile.negative()};
}

}  // namespace flameprobe
