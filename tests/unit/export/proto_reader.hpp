// Protobuf's wire format read back, for tests: what the writers make is decoded by other code than theirs.
#pragma once

#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace flameprobe {

class ProtoReader {
public:
    explicit ProtoReader(std::string_view message) : rest_(message) {
        while (!rest_.empty()) {
            const std::uint64_t key = varint();
            Field field{static_cast<unsigned>(key >> 3), 0, {}};
            if ((key & 7) == 0)
                field.number = varint();
            else if ((key & 7) == 1) {
                REQUIRE(rest_.size() >= 8);
                for (unsigned i = 0; i < 8; ++i)
                    field.number |= static_cast<std::uint64_t>(static_cast<unsigned char>(rest_[i])) << (8 * i);
                rest_.remove_prefix(8);
            } else {
                REQUIRE((key & 7) == 2);
                const std::uint64_t size = varint();
                REQUIRE(size <= rest_.size());
                field.bytes = rest_.substr(0, size);
                rest_.remove_prefix(size);
            }
            fields_.push_back(field);
        }
    }

    std::uint64_t number(unsigned field) const {
        for (const Field& known : fields_)
            if (known.id == field) return known.number;
        return 0;
    }
    std::string_view bytes(unsigned field) const {
        for (const Field& known : fields_)
            if (known.id == field) return known.bytes;
        return {};
    }
    ProtoReader message(unsigned field) const { return ProtoReader(bytes(field)); }
    std::vector<std::string_view> all(unsigned field) const {
        std::vector<std::string_view> found;
        for (const Field& known : fields_)
            if (known.id == field) found.push_back(known.bytes);
        return found;
    }
    std::vector<ProtoReader> messages(unsigned field) const {
        std::vector<ProtoReader> found;
        for (const std::string_view bytes : all(field)) found.emplace_back(bytes);
        return found;
    }
    std::vector<std::uint64_t> packed(unsigned field) const {
        ProtoReader reader;
        reader.rest_ = bytes(field);
        std::vector<std::uint64_t> found;
        while (!reader.rest_.empty()) found.push_back(reader.varint());
        return found;
    }

private:
    struct Field {
        unsigned id;
        std::uint64_t number;
        std::string_view bytes;
    };

    ProtoReader() = default;
    std::uint64_t varint() {
        std::uint64_t value = 0;
        for (unsigned shift = 0;; shift += 7) {
            REQUIRE(!rest_.empty());
            const auto byte = static_cast<unsigned char>(rest_.front());
            rest_.remove_prefix(1);
            value |= std::uint64_t{byte & 127u} << shift;
            if (byte < 128) return value;
        }
    }

    std::string_view rest_;
    std::vector<Field> fields_;
};

}  // namespace flameprobe
