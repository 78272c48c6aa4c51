#include "unwind/libunwind_stepper.hpp"

#include <libunwind.h>

#include <array>
#include <cstring>
#include <span>
#include <vector>

#include "base/self_memory.hpp"
#include "cpu/arch.hpp"
#include "cpu/libunwind_registers.hpp"

// Exported by libunwind-<cpu> for callers of the remote interface, but declared in no installed header
// (libunwind's include/dwarf.h, dwarf_search_unwind_table).
extern "C" int UNW_OBJ(dwarf_search_unwind_table)(unw_addr_space_t, unw_word_t, unw_dyn_info_t*, unw_proc_info_t*, int,
                                                  void*);

namespace flameprobe {
namespace {

/// Words of mapped tables, read safely and kept for a while: libunwind asks for them one by one, a system call each.
class TableReader {
public:
    bool word(std::uint64_t address, std::uint64_t& out) {
        if (address % block_size > block_size - sizeof out)
            return read_self(address, std::as_writable_bytes(std::span(&out, 1))) == sizeof out;
        const std::uint64_t start = address - address % block_size;
        Block& block = blocks_[start / block_size % blocks_.size()];
        if (block.address != start) {
            block.address = read_self(start, block.bytes) == block_size ? start : 0;
            if (block.address == 0) return false;
        }
        std::memcpy(&out, block.bytes.data() + address % block_size, sizeof out);
        return true;
    }
    /// To be called when mappings have changed.
    void forget() {
        for (Block& block : blocks_) block.address = 0;
    }

private:
    static constexpr std::uint64_t block_size = 256;
    struct Block {
        std::uint64_t address = 0;
        std::array<std::byte, block_size> bytes;
    };
    std::vector<Block> blocks_ = std::vector<Block>(128);
};

/// What the accessors see, passed through libunwind as `void*`.
struct View {
    ModuleTable* modules = nullptr;
    TableReader* tables = nullptr;
    const CodeMap* map = nullptr;
    StackReader* stack = nullptr;
    const Cursor* cursor = nullptr;
    const Registers* all = nullptr;
};

View& view_of(void* argument) { return *static_cast<View*>(argument); }

int find_proc_info(unw_addr_space_t space, unw_word_t address, unw_proc_info_t* info, int need_unwind_info,
                   void* argument) {
    View& view = view_of(argument);
    const CodeRegion* const region = view.map->find(address);
    if (region == nullptr) return -UNW_ENOINFO;
    const auto tables = view.modules->find(*region);
    if (tables.cfi == nullptr) return -UNW_ENOINFO;
    const auto table = tables.cfi->search_table();
    if (table.entries == 0) return -UNW_ENOINFO;
    unw_dyn_info_t description{};
    description.start_ip = region->start;
    description.end_ip = region->end;
    description.format = UNW_INFO_FORMAT_REMOTE_TABLE;
    description.u.rti.segbase = table.header_address + tables.bias;
    description.u.rti.table_data = table.address + tables.bias;
    description.u.rti.table_len = table.entries * 8 / sizeof(unw_word_t);
    return UNW_OBJ(dwarf_search_unwind_table)(space, address, &description, info, need_unwind_info, argument);
}

void put_unwind_info(unw_addr_space_t, unw_proc_info_t* info, void*) {
    // dwarf_search_unwind_table took it from libunwind's own pool and offers no way to give it back (put_unwind_info
    // in libunwind's unw_get_accessors for remote spaces leaves it as well); the cursor's cache reuses it.
    static_cast<void>(info);
}

int get_dyn_info_list_addr(unw_addr_space_t, unw_word_t*, void*) { return -UNW_ENOINFO; }

int access_mem(unw_addr_space_t, unw_word_t address, unw_word_t* value, int write, void* argument) {
    View& view = view_of(argument);
    if (write != 0) return -UNW_EINVAL;
    std::uint64_t word = 0;
    // Tables lie in the process's memory, far from its stacks.
    if (address < view.cursor->sp || !view.stack->word(address, word)) {
        if (!view.tables->word(address, word)) return -UNW_EINVAL;
    }
    *value = word;
    return 0;
}

int access_reg(unw_addr_space_t, unw_regnum_t number, unw_word_t* value, int write, void* argument) {
    const View& view = view_of(argument);
    if (write != 0) return -UNW_EREADONLYREG;
    switch (number) {
        case cpu::unwound_pc:
            *value = view.cursor->lookup();
            return 0;
        case cpu::unwound_sp:
            *value = view.cursor->sp;
            return 0;
        case cpu::unwound_fp:
            *value = view.cursor->fp;
            return 0;
        case cpu::unwound_third:
            *value = view.cursor->third;
            return 0;
        default:
            break;
    }
    if (view.all == nullptr || number < 0 || number >= static_cast<int>(Registers::count)) return -UNW_EBADREG;
    *value = view.all->value[static_cast<std::size_t>(number)];
    return 0;
}

int access_fpreg(unw_addr_space_t, unw_regnum_t, unw_fpreg_t*, int, void*) { return -UNW_EBADREG; }
int resume(unw_addr_space_t, unw_cursor_t*, void*) { return -UNW_EINVAL; }
int get_proc_name(unw_addr_space_t, unw_word_t, char*, std::size_t, unw_word_t*, void*) { return -UNW_ENOINFO; }

}  // namespace

class LibunwindStepper::Space {
public:
    Space(const CodeMap& map, ModuleTable& modules) {
        unw_accessors_t accessors{find_proc_info, put_unwind_info, get_dyn_info_list_addr, access_mem, access_reg,
                                  access_fpreg,   resume,          get_proc_name};
        space_ = ::unw_create_addr_space(&accessors, 0);
        view_.map = &map;
        view_.modules = &modules;
        view_.tables = &tables_;
    }
    ~Space() {
        if (space_ != nullptr) ::unw_destroy_addr_space(space_);
    }
    Space(const Space&) = delete;
    Space& operator=(const Space&) = delete;

    std::optional<WalkEnd> step(Cursor& cursor, const Registers* all, StackReader& stack) {
        if (space_ == nullptr) return WalkEnd::no_unwind_info;
        forget_if_stale();
        view_.stack = &stack;
        view_.cursor = &cursor;
        view_.all = all;
        unw_cursor_t unwinding;
        if (::unw_init_remote(&unwinding, space_, &view_) < 0) return WalkEnd::no_unwind_info;
        const bool in_signal_frame = ::unw_is_signal_frame(&unwinding) > 0;
        const int result = ::unw_step(&unwinding);
        if (result < 0) return WalkEnd::no_unwind_info;
        Cursor caller = cursor;
        unw_word_t value = 0;
        const auto get = [&](int number, std::uint64_t& out) {
            if (::unw_get_reg(&unwinding, number, &value) == 0) out = value;
        };
        get(UNW_REG_IP, caller.pc);
        get(UNW_REG_SP, caller.sp);
        // As in SavedFrame::restore: only a slot of the frame itself holds a caller's value.
        const auto restore = [&](int number, std::uint64_t& out) {
            unw_save_loc_t place{};
            const bool in_memory = ::unw_get_save_loc(&unwinding, number, &place) == 0 && place.type == UNW_SLT_MEMORY;
            const bool inside = in_memory && place.u.addr >= cursor.sp && place.u.addr < caller.sp;
            if (!in_memory || inside || in_signal_frame) get(number, out);
        };
        restore(cpu::unwound_fp, caller.fp);
        restore(cpu::unwound_third, caller.third);
        if (result == 0 || caller.pc == 0) return WalkEnd::bad_return;  // "finished" does not prove a root
        caller.interrupted = in_signal_frame;
        if (!in_signal_frame) caller.pc = Arch::strip(caller.pc);
        cursor = caller;
        return std::nullopt;
    }

private:
    void forget_if_stale() {
        if (view_.map->generation() == generation_) return;
        generation_ = view_.map->generation();
        tables_.forget();
        ::unw_flush_cache(space_, 0, 0);
    }

    unw_addr_space_t space_ = nullptr;
    TableReader tables_;
    View view_;
    std::uint64_t generation_ = 0;
};

LibunwindStepper::LibunwindStepper(const CodeMap& map, ModuleTable& modules)
    : space_(std::make_unique<Space>(map, modules)) {}
LibunwindStepper::~LibunwindStepper() = default;

std::optional<WalkEnd> LibunwindStepper::step(Cursor& cursor, const Registers* all, StackReader& stack) {
    return space_->step(cursor, all, stack);
}

}  // namespace flameprobe
