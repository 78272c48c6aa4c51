#include "unwind/cfi_tables.hpp"

#include <unordered_set>

#include "cpu/registers.hpp"
#include "unwind/code_bytes.hpp"
#include "unwind/expression.hpp"

namespace flameprobe {

namespace {

using How = CfiRule::How;

std::optional<RuleBase> base_of(std::uint64_t dwarf_register) {
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

bool set_cfa(const TableFrame& frame, UnwindRule& rule) {
    const CfiRule& cfa = frame.row.cfa;
    ExpressionPlace place{frame.row.cfa_register, frame.row.cfa_offset, false};
    if (cfa.how == How::val_expression) {
        const auto found = place_of(frame.expression(cfa));
        if (!found || !found->base) return false;
        place = *found;
    } else if (cfa.how != How::val_offset) {
        return false;
    }
    const auto base = base_of(*place.base);
    const auto offset = narrow(place.offset);
    if (!base || !offset) return false;
    rule.base = *base;
    rule.cfa_offset = *offset;
    rule.cfa_is_loaded = place.loaded;
    return true;
}

/// A rule's field for one saved register.
struct SlotField {
    std::int32_t* offset;
    SlotOrigin origin = SlotOrigin::cfa;

    bool set(const TableFrame& frame, const CfiRule& saved) {
        ExpressionPlace place{std::nullopt, saved.number, false};
        switch (saved.how) {
            case How::unspecified:
            case How::same_value:
            case How::undefined:
                return *offset = UnwindRule::same, true;
            case How::expression: {
                const auto found = place_of(frame.expression(saved));
                if (!found || found->loaded) return false;
                place = *found;
                break;
            }
            case How::offset:
                break;
            default:
                return false;
        }
        if (place.base) {
            const auto base = base_of(*place.base);
            if (!base) return false;
            origin = *base == RuleBase::sp   ? SlotOrigin::sp
                     : *base == RuleBase::fp ? SlotOrigin::fp
                                             : SlotOrigin::third;
        }
        const auto narrowed = narrow(place.offset);
        if (!narrowed) return false;
        *offset = *narrowed;
        return true;
    }
};

/// Whether the caller's stack pointer is not the CFA, as in GHC's StgRun. One that is loaded from a slot is what the
/// kernel's frame for a signal handler has: the CFA is loaded from there too.
bool has_other_stack_pointer(const TableFrame& frame) {
    const CfiRule& rule = frame.row.of[Arch::sp];
    return rule.how == How::val_expression || rule.how == How::in_register ||
           (rule.how == How::val_offset && rule.number != 0);
}

/// The rule is `irregular` where the table says more than an UnwindRule can hold.
UnwindRule rule_of_frame(const TableFrame& frame, std::uint64_t address) {
    UnwindRule rule;
    rule.address = address;
    rule.kind = RuleKind::irregular;
    rule.signal_frame = frame.entry.common.is_signal_frame;
    const CfiRule return_address = frame.return_address();
    const bool has_cfa = set_cfa(frame, rule);
    // "undefined" is how _start, clone3 and the like say that they have no caller; the only proof of a whole stack.
    if (return_address.how == How::undefined) {
        rule.kind = RuleKind::root;
        return rule;
    }
    if (!has_cfa || has_other_stack_pointer(frame)) return rule;
    SlotField ra{&rule.ra_slot}, fp{&rule.fp_slot}, third{&rule.third_slot};
    if (!ra.set(frame, return_address) || !fp.set(frame, frame.row.of[Arch::fp]) ||
        !third.set(frame, frame.row.of[Arch::third]))
        return rule;
    rule.ra_origin = ra.origin;
    rule.fp_origin = fp.origin;
    rule.third_origin = third.origin;
    if (rule.ra_slot == UnwindRule::same && !Arch::return_address_in_register) return rule;
    rule.kind = RuleKind::step;
    mend_table_rule(rule);
    return rule;
}

}  // namespace

CfiTables::CfiTables(ElfImage image, std::string path)
    : image_(std::move(image)), path_(std::move(path)), eh_frame_(image_), is_go_(image_.section(".go.buildinfo")) {}

std::optional<TableFrame> CfiTables::frame(std::uint64_t file_address) {
    std::optional<TableFrame> found;
    const auto take = [&](const std::optional<CfiEntry>& entry) {
        if (!entry) return false;
        found.emplace().entry = *entry;
        return find_row(found->entry, file_address, found->row);
    };
    if (take(eh_frame_.entry_of(file_address))) return found;
    if (!debug_frame_) debug_frame_.emplace(image_, path_);
    if (!take(debug_frame_->entry_of(file_address))) found.reset();
    return found;
}

UnwindRule CfiTables::rule(std::uint64_t address, std::uint64_t bias) {
    if (const auto found = frame(address - bias)) return rule_of_frame(*found, address);
    UnwindRule none;
    none.address = address;
    none.kind = RuleKind::no_cfi;
    return none;
}

CfiTables::Function CfiTables::function(std::uint64_t address, std::uint64_t bias) {
    Function found;
    found.start = eh_frame_.start_of(address - bias);
    found.end = eh_frame_.next_start(address - bias);
    found.described = rule(address, bias).kind != RuleKind::no_cfi;
    if (!found.described) return found;
    const UnwindRule first = rule(found.start + bias, bias);
    found.split_off =
        first.kind == RuleKind::step && !(first.base == RuleBase::sp && first.cfa_offset == Arch::entry_cfa);
    return found;
}

std::uint64_t CfiTables::last_rule_of(std::uint64_t function, std::uint64_t bias) {
    constexpr int most = 64;
    const std::uint64_t next = eh_frame_.next_start(function - bias);
    std::uint64_t last = 0, at = function - bias;
    for (int nth = 0; nth < most && (next == 0 || at < next); ++nth) {
        const auto found = frame(at);
        if (!found) break;
        last = at + bias;
        at = found->row.end;
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
