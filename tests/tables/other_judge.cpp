#include "other_judge.hpp"

#include <libunwind.h>

#include <array>
#include <cstring>
#include <optional>

#include "unwind/expression.hpp"

// Exported, and used so by users of its remote interface, but in none of its headers.
extern "C" int _Ux86_64_dwarf_search_unwind_table(unw_addr_space_t space, unw_word_t pc, unw_dyn_info_t* table,
                                                  unw_proc_info_t* found, int with_rules, void* argument);

namespace flameprobe::testing {
namespace {

using How = CfiRule::How;
constexpr std::uint64_t table = 0x7abc'0000'0000;         // where libunwind reads a search table of one entry
constexpr unsigned stack_register = 7, pc_register = 16;  // DWARF's and libunwind's numbers are the same
using Registers = std::array<std::optional<std::uint64_t>, pc_register + 1>;

struct Made : FrameState {
    CfiSection section;
    std::uint64_t start = 0, end = 0, description = 0, pc = 0;

    std::optional<std::uint64_t> register_value(std::uint64_t number) override {
        if (number == pc_register) return pc;
        return number < pc_register ? std::optional(0x7def'0000'0000 + number * 0x10000) : std::nullopt;
    }
    /// Each byte has a value of its own place, so words at any address have.
    static std::uint8_t byte_at(std::uint64_t address) {
        return static_cast<std::uint8_t>((address * 0x9e37'79b9'7f4a'7c15) >> 48);
    }
    std::optional<std::uint64_t> word(std::uint64_t address) override {
        std::uint64_t value = 0;
        for (unsigned i = 0; i < 8; ++i) value |= static_cast<std::uint64_t>(byte_at(address + i)) << (8 * i);
        return value;
    }
    /// With the table and the section in it.
    std::uint64_t memory(std::uint64_t address) {
        std::array<std::uint8_t, 8> bytes{};
        const std::int32_t entry[] = {static_cast<std::int32_t>(start - section.address),
                                      static_cast<std::int32_t>(description)};
        for (std::uint64_t& at = address; std::uint8_t & byte : bytes) {
            if (at - table < sizeof entry)
                std::memcpy(&byte, reinterpret_cast<const char*>(entry) + (at - table), 1);
            else if (at - section.address < section.bytes.size())
                byte = static_cast<std::uint8_t>(section.bytes[at - section.address]);
            else
                byte = byte_at(at);
            ++at;
        }
        std::uint64_t value = 0;
        std::memcpy(&value, bytes.data(), sizeof value);
        return value;
    }
};

int find_description(unw_addr_space_t space, unw_word_t pc, unw_proc_info_t* found, int with_rules, void* made) {
    const Made& frame = *static_cast<Made*>(made);
    unw_dyn_info_t info{};
    info.start_ip = frame.start;
    info.end_ip = frame.end;
    info.format = UNW_INFO_FORMAT_REMOTE_TABLE;
    info.u.rti.segbase = frame.section.address;
    info.u.rti.table_data = table;
    info.u.rti.table_len = 1;
    return ::_Ux86_64_dwarf_search_unwind_table(space, pc, &info, found, with_rules, made);
}

unw_addr_space_t address_space() {
    static unw_accessors_t accessors{};  // later versions have more of them
    accessors.find_proc_info = find_description;
    accessors.put_unwind_info = [](unw_addr_space_t, unw_proc_info_t*, void*) {};
    accessors.get_dyn_info_list_addr = [](unw_addr_space_t, unw_word_t*, void*) { return -UNW_ENOINFO; };
    accessors.access_mem = [](unw_addr_space_t, unw_word_t address, unw_word_t* value, int write, void* made) {
        if (write == 0) *value = static_cast<Made*>(made)->memory(address);
        return write == 0 ? 0 : -UNW_EINVAL;
    };
    accessors.access_reg = [](unw_addr_space_t, unw_regnum_t number, unw_word_t* value, int write, void* made) {
        const auto known = static_cast<Made*>(made)->register_value(static_cast<std::uint64_t>(number));
        if (write != 0 || !known) return -UNW_EBADREG;
        *value = *known;
        return 0;
    };
    accessors.access_fpreg = [](unw_addr_space_t, unw_regnum_t, unw_fpreg_t*, int, void*) { return -UNW_EBADREG; };
    accessors.resume = [](unw_addr_space_t, unw_cursor_t*, void*) { return -UNW_EINVAL; };
    accessors.get_proc_name = [](unw_addr_space_t, unw_word_t, char*, std::size_t, unw_word_t*, void*) {
        return -UNW_ENOINFO;
    };
    static const unw_addr_space_t space = [] {
        const unw_addr_space_t made = ::unw_create_addr_space(&accessors, 0);
        ::unw_set_caching_policy(made, UNW_CACHE_NONE);
        return made;
    }();
    return space;
}

std::optional<std::uint64_t> value_of(const CfiRule& rule, const CfiSection& section, unsigned number,
                                      std::uint64_t cfa, Made& made) {
    const auto offset = static_cast<std::uint64_t>(rule.number);
    switch (rule.how) {
        case How::undefined:
            return std::nullopt;
        case How::offset:
            return made.word(cfa + offset);
        case How::val_offset:
            return cfa + offset;
        case How::in_register:
            return made.register_value(offset);
        case How::expression: {
            const auto place = evaluate(expression_of(section, rule), cfa, made);
            return place ? made.word(*place) : std::nullopt;
        }
        case How::val_expression:
            return evaluate(expression_of(section, rule), cfa, made);
        default:
            return number == stack_register ? cfa : made.register_value(number);
    }
}

std::optional<Registers> ours(const CfiEntry& entry, const CfiRow& row, Made& made) {
    std::optional<std::uint64_t> cfa;
    if (row.cfa.how == How::val_offset) cfa = made.register_value(row.cfa_register);
    if (cfa) *cfa += static_cast<std::uint64_t>(row.cfa_offset);
    if (row.cfa.how == How::val_expression) cfa = evaluate(expression_of(entry.section, row.cfa), std::nullopt, made);
    if (!cfa) return std::nullopt;
    Registers after;
    for (unsigned number = 0; number < pc_register; ++number)
        after[number] = value_of(row.of[number], entry.section, number, *cfa, made);
    const auto column = static_cast<unsigned>(entry.common.return_column);
    after[pc_register] = value_of(row.lookup(column), entry.section, column, *cfa, made);
    return after;
}

}  // namespace

std::string difference_of_steps(const CfiEntry& entry, const CfiRow& row, std::uint64_t address,
                                std::uint64_t description) {
    Made made;
    made.section = entry.section;
    made.start = entry.start;
    made.end = entry.end;
    made.description = description;
    made.pc = address;
    const auto known = ours(entry, row, made);
    unw_cursor_t cursor;
    if (::unw_init_remote(&cursor, address_space(), &made) != 0) return "?";
    const int stepped = ::unw_step(&cursor);
    if (stepped < 0 || !known) return "?";
    std::string text;
    if (stepped == 0 || !(*known)[pc_register])
        return stepped == 0 && !(*known)[pc_register] ? "" : " only one of us takes it for the last frame";
    for (unsigned number = 0; number <= pc_register; ++number) {
        // For libunwind the stack pointer is the CFA, whatever the table says of it, as at the end of longjmp.
        if (number == stack_register && row.of[number].how != How::unspecified) continue;
        unw_word_t value = 0;
        const bool has = ::unw_get_reg(&cursor, static_cast<unw_regnum_t>(number), &value) == 0;
        if (has != (*known)[number].has_value() || (has && value != *(*known)[number]))
            text += " r" + std::to_string(number) + " for libunwind " + (has ? std::to_string(value) : "unknown");
    }
    return text;
}

}  // namespace flameprobe::testing
