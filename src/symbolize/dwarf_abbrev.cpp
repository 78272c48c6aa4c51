#include "symbolize/dwarf_abbrev.hpp"

#include <dwarf.h>

#include <algorithm>

#include "symbolize/dwarf_form.hpp"

namespace flameprobe {

namespace {

constexpr std::size_t most_tables = 64;

}  // namespace

AbbreviationTable::AbbreviationTable(Bytes section, std::uint64_t offset, std::uint64_t only) {
    ByteCursor cursor(section, offset);
    for (std::uint64_t code; (code = cursor.uleb()) != 0 && cursor.ok();) {
        if (!add(cursor, code)) break;
        if (code == only) break;
    }
    if (!dense_)
        std::stable_sort(entries_.begin(), entries_.end(),
                         [](const auto& a, const auto& b) { return a.code < b.code; });
}

bool AbbreviationTable::add(ByteCursor& cursor, std::uint64_t code) {
    Abbreviation entry;
    entry.code = code;
    entry.tag = static_cast<std::uint16_t>(cursor.uleb());
    entry.has_children = cursor.u8() != 0;
    entry.first = static_cast<std::uint32_t>(attributes_.size());
    entry.fixed_size = 0;
    for (;;) {
        AttributeSpec spec;
        spec.name = static_cast<std::uint16_t>(cursor.uleb());
        spec.form = static_cast<std::uint16_t>(cursor.uleb());
        if (spec.form == DW_FORM_implicit_const) spec.constant = cursor.sleb();
        if (!cursor.ok()) return false;
        if (spec.name == 0 && spec.form == 0) break;
        spec.size = static_cast<std::int8_t>(fixed_form_size(spec.form));
        entry.fixed_size = spec.size < 0 || entry.fixed_size < 0 ? -1 : entry.fixed_size + spec.size;
        attributes_.push_back(spec);
    }
    entry.count = static_cast<std::uint32_t>(attributes_.size()) - entry.first;
    dense_ = dense_ && code == entries_.size() + 1;
    entries_.push_back(entry);
    return true;
}

const Abbreviation* AbbreviationTable::find(std::uint64_t code) const {
    if (dense_) return code - 1 < entries_.size() ? &entries_[code - 1] : nullptr;
    const auto found =
        std::lower_bound(entries_.begin(), entries_.end(), code, [](const auto& e, auto c) { return e.code < c; });
    return found == entries_.end() || found->code != code ? nullptr : &*found;
}

std::shared_ptr<const AbbreviationTable> AbbreviationCache::get(Bytes section, std::uint64_t offset) {
    {
        const std::lock_guard lock(mutex_);
        if (const auto found = tables_.find(offset); found != tables_.end()) return found->second;
    }
    auto table = std::make_shared<const AbbreviationTable>(section, offset);
    const std::lock_guard lock(mutex_);
    if (tables_.size() >= most_tables) tables_.clear();  // whoever uses one holds it
    return tables_.try_emplace(offset, std::move(table)).first->second;
}

}  // namespace flameprobe
