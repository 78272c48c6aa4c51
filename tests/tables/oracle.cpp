#include "oracle.hpp"

#include <dwarf.h>
#include <elf.h>
#include <libelf.h>

#include <cstdlib>
#include <cstring>
#include <span>
#include <stdexcept>

#include "base/elf_head.hpp"

namespace flameprobe::testing {
namespace {

using How = CfiRule::How;
constexpr std::uint64_t behind_head = 512;

std::span<const std::byte> whole_entry(const CfiSection& section, std::uint64_t offset) {
    const auto header = CfiHeader::at(section, offset);
    if (!header) throw std::runtime_error("an entry is not whole");
    return section.bytes.subspan(offset, header->end - offset);
}

/// Where the entry's identifier or distance stands in it, and how wide it is.
void point_back(std::span<std::byte> entry, std::uint64_t value_or_distance, bool is_distance) {
    std::uint32_t length = 0;
    std::memcpy(&length, entry.data(), sizeof length);
    const bool wide = length == 0xffffffff;
    const std::size_t at = wide ? 12 : 4;
    const std::uint64_t value = value_or_distance + (is_distance ? at : 0);
    std::memcpy(entry.data() + at, &value, wide ? 8 : 4);
}

std::string text_of(const Dwarf_Op& op) {
    char text[100];
    std::snprintf(text, sizeof text, "%x(%lx,%lx) ", op.atom, static_cast<unsigned long>(op.number),
                  static_cast<unsigned long>(op.number2));
    return text;
}
std::string text_of(std::span<const Dwarf_Op> ops) {
    std::string text;
    for (const Dwarf_Op& op : ops) text += text_of(op);
    return text;
}

std::uint64_t as_number(std::int64_t value) { return static_cast<std::uint64_t>(value); }

/// One operation with its operands, as libdw decodes it.
Dwarf_Op next_operation(ByteReader& in) {
    Dwarf_Op op{};
    op.offset = in.position();
    op.atom = in.u8();
    switch (op.atom) {
        case DW_OP_const1u:
        case DW_OP_pick:
        case DW_OP_deref_size:
            op.number = in.u8();
            break;
        case DW_OP_const1s:
            op.number = as_number(in.fixed<std::int8_t>());
            break;
        case DW_OP_const2u:
            op.number = in.fixed<std::uint16_t>();
            break;
        case DW_OP_const2s:
        case DW_OP_skip:
        case DW_OP_bra:
            op.number = as_number(in.fixed<std::int16_t>());
            break;
        case DW_OP_const4u:
            op.number = in.u32();
            break;
        case DW_OP_const4s:
            op.number = as_number(in.fixed<std::int32_t>());
            break;
        case DW_OP_addr:
        case DW_OP_const8u:
        case DW_OP_const8s:
            op.number = in.u64();
            break;
        case DW_OP_constu:
        case DW_OP_plus_uconst:
        case DW_OP_regx:
            op.number = in.varint();
            break;
        case DW_OP_consts:
            op.number = as_number(in.sleb128());
            break;
        case DW_OP_bregx:
            op.number = in.varint();
            op.number2 = as_number(in.sleb128());
            break;
        default:
            if (op.atom >= DW_OP_breg0 && op.atom <= DW_OP_breg31) op.number = as_number(in.sleb128());
    }
    return op;
}

std::vector<Dwarf_Op> operations_of(std::span<const std::byte> expression) {
    std::vector<Dwarf_Op> ops;
    for (ByteReader in(expression); !in.at_end();) ops.push_back(next_operation(in));
    return ops;
}

Dwarf_Op operation(unsigned atom, std::uint64_t number = 0, std::uint64_t number2 = 0) {
    return {static_cast<std::uint8_t>(atom), number, number2, 0};
}

/// The operations by which libdw tells a rule.
std::vector<Dwarf_Op> told(const CfiSection& section, const CfiRule& rule) {
    std::vector<Dwarf_Op> ops;
    switch (rule.how) {
        case How::offset:
        case How::val_offset:
            ops.push_back(operation(DW_OP_call_frame_cfa));
            if (rule.number != 0) ops.push_back(operation(DW_OP_plus_uconst, as_number(rule.number)));
            break;
        case How::in_register:
            ops.push_back(operation(DW_OP_regx, as_number(rule.number)));
            break;
        case How::expression:
        case How::val_expression:
            ops = operations_of(expression_of(section, rule));
            ops.insert(ops.begin(), operation(DW_OP_call_frame_cfa));
            break;
        default:
            break;
    }
    if (rule.how == How::val_offset || rule.how == How::val_expression) ops.push_back(operation(DW_OP_stack_value));
    return ops;
}

bool same(std::span<const Dwarf_Op> one, std::span<const Dwarf_Op> other) {
    const auto same_operation = [](const Dwarf_Op& a, const Dwarf_Op& b) {
        return a.atom == b.atom && a.number == b.number && a.number2 == b.number2;
    };
    return std::equal(one.begin(), one.end(), other.begin(), other.end(), same_operation);
}

struct Told {
    std::array<Dwarf_Op, 3> few{};
    std::span<const Dwarf_Op> ops;
    bool is_same_value = false, known = false;
};

void ask(Dwarf_Frame* frame, unsigned number, Told& out) {
    Dwarf_Op* ops = nullptr;
    std::size_t count = 0;
    out.known = ::dwarf_frame_register(frame, static_cast<int>(number), out.few.data(), &ops, &count) == 0;
    out.ops = {ops, count};
    out.is_same_value = count == 0 && ops == nullptr;
}

std::string register_difference(const CfiEntry& entry, const CfiRule& rule, unsigned number, Dwarf_Frame* theirs,
                                How by_default) {
    Told say;
    ask(theirs, number, say);
    if (!say.known) return " r" + std::to_string(number) + ": libdw says nothing";
    CfiRule ours = rule;
    if (ours.how == How::unspecified) ours.how = by_default;
    const bool is_none = ours.how == How::same_value || ours.how == How::undefined;
    if (is_none ? say.ops.empty() && say.is_same_value == (ours.how == How::same_value)
                : same(told(entry.section, ours), say.ops))
        return {};
    return " r" + std::to_string(number) + ": how " + std::to_string(static_cast<int>(rule.how)) + " " +
           text_of(told(entry.section, ours)) + "/ " + text_of(say.ops);
}

}  // namespace

void Oracle::Free::operator()(Dwarf_Frame* frame) const { std::free(frame); }

Oracle::Oracle(const CfiSection& section, std::uint64_t description, std::uint64_t common, std::uint16_t machine) {
    const auto common_bytes = whole_entry(section, common), bytes = whole_entry(section, description);
    const NamedSection named{section.is_debug_frame ? ".debug_frame" : ".eh_frame", behind_head,
                             common_bytes.size() + bytes.size()};
    std::string head = elf_head({&named, 1}, machine);
    Elf64_Shdr header;
    std::memcpy(&header, head.data() + sizeof(Elf64_Ehdr) + sizeof header, sizeof header);
    // What is relative to its own place must stand at its own address.
    header.sh_addr = section.address + description - common_bytes.size();
    std::memcpy(head.data() + sizeof(Elf64_Ehdr) + sizeof header, &header, sizeof header);
    file_.resize(behind_head + named.size);
    std::memcpy(file_.data(), head.data(), head.size());
    std::memcpy(file_.data() + behind_head, common_bytes.data(), common_bytes.size());
    const auto entry = std::span(file_).subspan(behind_head + common_bytes.size());
    std::memcpy(entry.data(), bytes.data(), bytes.size());
    point_back(entry, section.is_debug_frame ? 0 : common_bytes.size(), !section.is_debug_frame);
    ::elf_version(EV_CURRENT);
    elf_ = ::elf_memory(reinterpret_cast<char*>(file_.data()), file_.size());
    if (section.is_debug_frame) {
        dwarf_ = ::dwarf_begin_elf(elf_, DWARF_C_READ, nullptr);
        cfi_ = dwarf_ == nullptr ? nullptr : ::dwarf_getcfi(dwarf_);
    } else {
        cfi_ = ::dwarf_getcfi_elf(elf_);
    }
    if (cfi_ == nullptr) throw std::runtime_error("libdw cannot read an entry");
}

Oracle::~Oracle() {
    if (dwarf_ == nullptr && cfi_ != nullptr) ::dwarf_cfi_end(cfi_);
    if (dwarf_ != nullptr) ::dwarf_end(dwarf_);
    if (elf_ != nullptr) ::elf_end(elf_);
}

Oracle::Frame Oracle::frame(std::uint64_t address) const {
    Dwarf_Frame* frame = nullptr;
    return Frame(::dwarf_cfi_addrframe(cfi_, address, &frame) == 0 ? frame : nullptr);
}

Defaults defaults_of(std::uint16_t machine) {
    // A common entry "zR" with 4-byte numbers and a description of addresses 0x1000 to 0x1010, both without
    // instructions.
    constexpr unsigned char bytes[] = {16, 0, 0, 0, 0,  0, 0, 0, 1, 'z',  'R', 0, 1,    0x78, 16, 1, 3, 0, 0, 0,  //
                                       20, 0, 0, 0, 24, 0, 0, 0, 0, 0x10, 0,   0, 0x10, 0,    0,  0, 0, 0, 0, 0,
                                       0,  0, 0, 0};
    const CfiSection section{std::as_bytes(std::span(bytes))};
    const Oracle oracle(section, 20, 0, machine);
    const auto frame = oracle.frame(0x1000);
    if (!frame) throw std::runtime_error("libdw knows no defaults");
    Defaults defaults{};
    for (unsigned number = 0; number < defaults.size(); ++number) {
        Told say;
        ask(frame.get(), number, say);
        defaults[number] = !say.ops.empty() ? How::val_offset : say.is_same_value ? How::same_value : How::undefined;
    }
    return defaults;
}

std::string difference(const CfiEntry& entry, const CfiRow& ours, Dwarf_Frame* theirs, const Defaults& defaults) {
    Dwarf_Addr start = 0, end = 0;
    bool is_signal_frame = false;
    const int column = ::dwarf_frame_info(theirs, &start, &end, &is_signal_frame);
    std::string text;
    if (column < 0 || as_number(column) != entry.common.return_column) text += " return column";
    if (is_signal_frame != entry.common.is_signal_frame) text += " signal frame";
    // libdw 0.188 begins the row behind DW_CFA_restore_state where the remembered one began; binutils
    // agrees with us. Rows follow each other without a gap, which compare_rows.cpp checks.
    if (std::min(end, entry.end) != ours.end) text += " end " + std::to_string(end);
    Dwarf_Op* ops = nullptr;
    std::size_t count = 0;
    const bool has_cfa = ::dwarf_frame_cfa(theirs, &ops, &count) == 0;
    std::vector<Dwarf_Op> cfa;
    if (ours.cfa.how == How::val_offset)
        cfa.push_back(operation(DW_OP_bregx, ours.cfa_register, as_number(ours.cfa_offset)));
    if (ours.cfa.how == How::val_expression) cfa = operations_of(expression_of(entry.section, ours.cfa));
    const std::span<const Dwarf_Op> said(ops, has_cfa ? count : 0);
    if (said.empty() && ours.cfa.how == How::val_offset) {
        text += no_cfa;
    } else if (!same(cfa, said)) {
        text += " cfa: " + text_of(cfa) + "/ " + text_of(said);
    }
    for (unsigned number = 0; number < CfiRow::registers; ++number)
        text += register_difference(entry, ours.of[number], number, theirs, defaults[number]);
    return text;
}

}  // namespace flameprobe::testing
