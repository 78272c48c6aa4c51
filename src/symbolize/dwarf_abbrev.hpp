// What attributes each kind of DIE in a unit has (DWARF 5, section 7.5.3).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "symbolize/byte_cursor.hpp"

namespace flameprobe {

struct AttributeSpec {
    std::uint16_t name = 0;
    std::uint16_t form = 0;
    std::int8_t size = -1;      // fixed_form_size(form)
    std::int64_t constant = 0;  // for DW_FORM_implicit_const
};

struct Abbreviation {
    std::uint64_t code = 0;
    std::uint16_t tag = 0;
    bool has_children = false;
    /// Bytes all attributes take together, where the forms alone decide (in units of 32-bit DWARF 3 and later); -1 if
    /// not.
    std::int32_t fixed_size = -1;
    std::uint32_t first = 0;  // of its attributes
    std::uint32_t count = 0;
};

class AbbreviationTable {
public:
    AbbreviationTable() = default;
    /// Hostile input gives a shorter table. `only`, if not 0, is the one code that is wanted.
    AbbreviationTable(Bytes section, std::uint64_t offset, std::uint64_t only = 0);

    /// Null for a code that is not in the table.
    const Abbreviation* find(std::uint64_t code) const;
    std::span<const AttributeSpec> attributes(const Abbreviation& abbreviation) const {
        return {attributes_.data() + abbreviation.first, abbreviation.count};
    }

private:
    bool add(ByteCursor& cursor, std::uint64_t code);

    std::vector<Abbreviation> entries_;  // entry i has code i + 1, as compilers number them, or else sorted by code
    std::vector<AttributeSpec> attributes_;
    bool dense_ = true;
};

/// Tables by offset: units share them (dwz, link-time optimisation). Keeps a bounded number. Thread-safe.
class AbbreviationCache {
public:
    std::shared_ptr<const AbbreviationTable> get(Bytes section, std::uint64_t offset);

private:
    std::mutex mutex_;
    std::map<std::uint64_t, std::shared_ptr<const AbbreviationTable>> tables_;
};

}  // namespace flameprobe
