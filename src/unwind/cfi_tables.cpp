#include "unwind/cfi_tables.hpp"

#include <dwarf.h>
#include <elfutils/libdw.h>

#include <array>
#include <span>
#include <unordered_set>

#include "cpu/registers.hpp"
#include "unwind/code_bytes.hpp"

namespace flameprobe {

namespace {

std::optional<RuleBase> base_of(unsigned dwarf_register) {
    switch (dwarf_register) {
        case Arch::sp:
            return RuleBase::sp;
        case Arch::fp:
            return RuleBase::fp;
        case Arch::third:
            return RuleBase::third;
        default:
            return std::nullopt;
    }
}

std::optional<std::int32_t> narrow(std::int64_t offset) {
    if (offset <= INT32_MIN || offset > INT32_MAX) return std::nullopt;
    return static_cast<std::int32_t>(offset);
}

/// A register or the CFA plus a constant, or the word there.
struct TablePlace {
    static constexpr unsigned cfa = ~0U;
    unsigned base = cfa;
    std::int64_t offset = 0;
    bool loaded = false;
};

/// Nothing if the expression stands for more than that, such as the one of PLT stubs, which asks for the pc.
std::optional<TablePlace> place_of(std::span<const Dwarf_Op> operations) {
    const auto take = [&](unsigned atom) {
        if (operations.empty() || operations[0].atom != atom) return false;
        operations = operations.subspan(1);
        return true;
    };
    TablePlace place;
    const bool has_cfa = take(DW_OP_call_frame_cfa);  // libdw puts it before a table's own expression
    const Dwarf_Op first = operations.empty() ? Dwarf_Op{} : operations[0];
    if (take(DW_OP_bregx)) {  // also libdw's for a register and an offset
        place.base = static_cast<unsigned>(first.number);
        place.offset = static_cast<std::int64_t>(first.number2);
    } else if (first.atom >= DW_OP_breg0 && first.atom <= DW_OP_breg31 && take(first.atom)) {
        place.base = first.atom - DW_OP_breg0;
        place.offset = static_cast<std::int64_t>(first.number);
    } else if (!has_cfa) {
        return std::nullopt;
    } else if (take(DW_OP_plus_uconst)) {
        place.offset = static_cast<std::int64_t>(first.number);
    }
    place.loaded = take(DW_OP_deref);
    return operations.empty() ? std::optional(place) : std::nullopt;
}

bool set_cfa(Dwarf_Frame& frame, UnwindRule& rule) {
    Dwarf_Op* operations = nullptr;
    std::size_t count = 0;
    if (::dwarf_frame_cfa(&frame, &operations, &count) != 0 || count == 0) return false;
    const auto cfa = place_of({operations, count});
    if (!cfa || cfa->base == TablePlace::cfa) return false;
    const auto base = base_of(cfa->base);
    const auto offset = narrow(cfa->offset);
    if (!base || !offset) return false;
    rule.base = *base;
    rule.cfa_offset = *offset;
    rule.cfa_is_loaded = cfa->loaded;
    return true;
}

/// Where a caller's register was saved.
struct Saved {
    enum class How : std::uint8_t { same, undefined, slot, other } how = How::other;
    TablePlace slot;
};

Saved saved_register(Dwarf_Frame& frame, unsigned number) {
    std::array<Dwarf_Op, 3> few{};
    Dwarf_Op* operations = nullptr;
    std::size_t count = 0;
    if (::dwarf_frame_register(&frame, static_cast<int>(number), few.data(), &operations, &count) != 0) return {};
    if (count == 0) return {operations == nullptr ? Saved::How::same : Saved::How::undefined, {}};
    // A value instead of a place ends in DW_OP_stack_value, another register is DW_OP_regx.
    const auto place = place_of({operations, count});
    if (!place || place->loaded) return {};
    return {Saved::How::slot, *place};
}

/// A rule's field for one saved register.
struct SlotField {
    std::int32_t* offset;
    SlotOrigin origin = SlotOrigin::cfa;

    bool set(const Saved& saved) {
        if (saved.how == Saved::How::other) return false;
        // libdw 0.188 calls registers undefined that no rule mentions, where compilers mean "same" (rbx above all).
        if (saved.how != Saved::How::slot) return *offset = UnwindRule::same, true;
        if (saved.slot.base != TablePlace::cfa) {
            const auto base = base_of(saved.slot.base);
            if (!base) return false;
            origin = *base == RuleBase::sp   ? SlotOrigin::sp
                     : *base == RuleBase::fp ? SlotOrigin::fp
                                             : SlotOrigin::third;
        }
        const auto narrowed = narrow(saved.slot.offset);
        if (!narrowed) return false;
        *offset = *narrowed;
        return true;
    }
};

/// Whether the caller's stack pointer is not the CFA, as in GHC's StgRun. Else libdw says DW_OP_call_frame_cfa, and
/// that it is a value.
bool has_other_stack_pointer(Dwarf_Frame& frame) {
    std::array<Dwarf_Op, 3> few{};
    Dwarf_Op* operations = nullptr;
    std::size_t count = 0;
    return ::dwarf_frame_register(&frame, Arch::sp, few.data(), &operations, &count) == 0 && count > 2;
}

/// The rule is `irregular` where the table says more than an UnwindRule can hold.
UnwindRule rule_of_frame(Dwarf_Frame_s& frame, std::uint64_t address) {
    UnwindRule rule;
    rule.address = address;
    rule.kind = RuleKind::irregular;
    bool signal_frame = false;
    const int return_column = ::dwarf_frame_info(&frame, nullptr, nullptr, &signal_frame);
    if (return_column < 0) return rule;
    rule.signal_frame = signal_frame;
    const Saved return_address = saved_register(frame, static_cast<unsigned>(return_column));
    const bool has_cfa = set_cfa(frame, rule);
    // "undefined" is how _start, clone3 and the like say that they have no caller; the only proof of a whole stack.
    if (return_address.how == Saved::How::undefined) {
        rule.kind = RuleKind::root;
        return rule;
    }
    if (!has_cfa || has_other_stack_pointer(frame)) return rule;
    SlotField ra{&rule.ra_slot}, fp{&rule.fp_slot}, third{&rule.third_slot};
    if (!ra.set(return_address) || !fp.set(saved_register(frame, Arch::fp)) ||
        !third.set(saved_register(frame, Arch::third)))
        return rule;
    rule.ra_origin = ra.origin;
    rule.fp_origin = fp.origin;
    rule.third_origin = third.origin;
    if (rule.ra_slot == UnwindRule::same && !Arch::return_address_in_register) return rule;
    rule.kind = RuleKind::step;
    mend_table_rule(rule);
    return rule;
}

/// The bytes belong to the image.
FunctionIndex index_of(const ElfImage& image) {
    for (const Elf64_Phdr& header : image.program_headers()) {
        if (header.p_type != PT_GNU_EH_FRAME) continue;
        const Elf_Data* const data = ::elf_getdata_rawchunk(image.elf(), static_cast<std::int64_t>(header.p_offset),
                                                            header.p_filesz, ELF_T_BYTE);
        if (data == nullptr) break;
        return {{static_cast<const std::byte*>(data->d_buf), data->d_size}, header.p_vaddr};
    }
    return {};
}

}  // namespace

CfiTables::CfiTables(ElfImage image, std::string path)
    : image_(std::move(image)),
      path_(std::move(path)),
      frames_(FramePages::of(image_)),
      index_(frames_ ? frames_->index() : index_of(image_)),
      eh_frame_(::dwarf_getcfi_elf(frames_ ? frames_->elf() : image_.elf())),
      is_go_(image_.section(".go.buildinfo") != nullptr) {}

CfiTables::~CfiTables() {
    if (eh_frame_ != nullptr) ::dwarf_cfi_end(eh_frame_);
}

Dwarf_CFI_s* CfiTables::debug_frame() {
    if (!debug_frame_) debug_frame_.emplace(image_, path_);
    return debug_frame_->cfi();
}

FrameOwner CfiTables::frame(std::uint64_t file_address) {
    Dwarf_Frame* frame = nullptr;
    if (frames_) frames_->want(file_address);
    const bool found = (eh_frame_ != nullptr && ::dwarf_cfi_addrframe(eh_frame_, file_address, &frame) == 0) ||
                       (debug_frame() != nullptr && ::dwarf_cfi_addrframe(debug_frame(), file_address, &frame) == 0);
    return FrameOwner(found ? frame : nullptr);
}

UnwindRule CfiTables::rule(std::uint64_t address, std::uint64_t bias) {
    if (const FrameOwner found = frame(address - bias)) return rule_of_frame(*found, address);
    UnwindRule none;
    none.address = address;
    none.kind = RuleKind::no_cfi;
    return none;
}

CfiTables::Function CfiTables::function(std::uint64_t address, std::uint64_t bias) {
    Function found;
    found.start = index_.start_of(address - bias);
    found.end = index_.next_start(address - bias);
    found.described = rule(address, bias).kind != RuleKind::no_cfi;
    if (!found.described) return found;
    const UnwindRule first = rule(found.start + bias, bias);
    found.split_off =
        first.kind == RuleKind::step && !(first.base == RuleBase::sp && first.cfa_offset == Arch::entry_cfa);
    return found;
}

std::uint64_t CfiTables::last_rule_of(std::uint64_t function, std::uint64_t bias) {
    constexpr int most = 64;
    const std::uint64_t next = index_.next_start(function - bias);
    std::uint64_t last = 0, at = function - bias;
    for (int nth = 0; nth < most && (next == 0 || at < next); ++nth) {
        const FrameOwner rule = frame(at);
        Dwarf_Addr end = 0;
        bool signal_frame = false;
        if (!rule || ::dwarf_frame_info(rule.get(), nullptr, &end, &signal_frame) < 0 || end <= at) break;
        last = at + bias;
        at = end;
    }
    return last;
}

ModuleTable::Tables ModuleTable::find(const CodeRegion& region) {
    const auto known = regions_.find(region.id);
    const Module& module =
        known != regions_.end() ? known->second : regions_.emplace(region.id, open(region)).first->second;
    return {module.cfi.get(), module.bias};
}

ModuleTable::Module ModuleTable::open(const CodeRegion& region) {
    if (region.kind == RegionKind::anonymous) return {};
    const FileKey key(region.path, region.build_id, region.device, region.inode);
    if (const auto shared = files_[key].lock(); shared && !shared->image().in_memory())
        if (const auto bias = shared->image().bias(region)) return {shared, *bias};
    auto image = ElfImage::from_file(region);
    const bool from_file = image.has_value();
    if (!image) image = ElfImage::from_memory(region);
    if (!image) return {};
    const auto bias = image->bias(region);
    if (!bias) return {};
    const auto tables = std::make_shared<CfiTables>(std::move(*image), region.path);
    if (from_file) files_[key] = tables;
    return {tables, *bias};
}

void ModuleTable::close_files() {
    regions_.clear();
    files_.clear();
}

void ModuleTable::forget_all_but(const CodeMap& map) {
    std::unordered_set<std::uint32_t> alive;
    for (const auto& region : map.regions()) alive.insert(region->id);
    std::erase_if(regions_, [&](const auto& entry) { return !alive.contains(entry.first); });
    std::erase_if(files_, [](const auto& entry) { return entry.second.expired(); });
}

}  // namespace flameprobe
