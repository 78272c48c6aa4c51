#include "observer.hpp"

#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace exact {
namespace {

constexpr std::size_t copied = 16u << 10;

flameprobe::Registers registers_of(const user_regs_struct& from) {
    flameprobe::Registers out;
    out.value = {from.rax, from.rdx, from.rcx, from.rbx, from.rsi, from.rdi, from.rbp, from.rsp, from.r8,
                 from.r9,  from.r10, from.r11, from.r12, from.r13, from.r14, from.r15, from.rip};
    return out;
}

}  // namespace

std::size_t ChildMemory::read(std::uint64_t address, std::span<std::byte> out) {
    const auto bytes = flameprobe::testing::read_process(child_, address, out.size());
    std::memcpy(out.data(), bytes.data(), bytes.size());
    return bytes.size();
}

bool ChildMemory::read_all(std::uint64_t address, void* out, std::size_t size) {
    iovec local{out, size};
    iovec remote{reinterpret_cast<void*>(address), size};
    return ::process_vm_readv(child_, &local, 1, &remote, 1, 0) == static_cast<ssize_t>(size);
}

Observer::Observer(pid_t child)
    : memory_(child),
      unwinder_(flameprobe::make_dwarf_unwinder(map_)),
      scanner_(map_, flameprobe::UnwindTableMatch(map_, unwinder_->modules()),
               [this](std::uint64_t address, std::span<std::byte> out) { return memory_.read(address, out); }) {
    flameprobe::testing::add_own_mappings(map_);
}

bool Observer::truth_of(pid_t tid) {
    Thread all[most_threads];
    if (!memory_.read_all(reinterpret_cast<std::uintptr_t>(threads), all, sizeof all)) return false;
    const auto mine = std::find_if(std::begin(all), std::end(all), [&](const auto& t) { return t.tid == tid; });
    if (mine == std::end(all) || mine->current == nullptr) return false;
    const auto address = reinterpret_cast<std::uintptr_t>(mine->current);
    if (!memory_.read_all(address, &truth_.depth, sizeof truth_.depth)) return false;
    const std::size_t size = static_cast<std::size_t>(truth_.depth) * sizeof(Noted);
    return size == 0 || memory_.read_all(address + offsetof(Truth, open), truth_.open, size);
}

void Observer::look(pid_t tid) {
    user_regs_struct from{};
    if (::ptrace(PTRACE_GETREGS, tid, nullptr, &from) != 0) return;
    std::vector<std::byte> bytes(copied);
    bytes.resize(memory_.read(from.rsp, bytes));
    // A page of stack that is not there yet, because nothing has touched it.
    if (bytes.size() < 256 || !truth_of(tid)) {
        ++counts_.unsure;
        return;
    }
    unwinder_->walk(registers_of(from), {from.rsp, bytes}, &memory_, walk_);
    scanner_.find({from.rsp, bytes}, walk_, &memory_, placed_);
    ++counts_.looks;
    compare(from.rsp, from.rsp + bytes.size());
}

/// Both lists are outermost first. Every scope found must be one that was noted, in the same order and in the frame in
/// which it was noted; every scope noted as certainly open must be found if its record was in the copy.
void Observer::compare(std::uint64_t sp, std::uint64_t copy_end) {
    const Counts before = counts_;
    const std::uint64_t reach = std::min(copy_end, walk_.frames.empty() ? 0 : walk_.frames.back().cfa);
    std::size_t next = 0;
    for (int i = 0; i < truth_.depth; ++i) {
        const Noted& noted = truth_.open[i];
        const auto is_it = [&](const flameprobe::PlacedScope& scope) {
            const std::uint64_t low = scope.frame == 0 ? sp : walk_.frames[scope.frame - 1].cfa;
            const std::uint64_t high = walk_.frames[scope.frame].cfa;
            // One that is just being made has no address noted yet.
            const bool in_frame = noted.guard == 0 || (noted.guard >= low && noted.guard < high);
            const std::string& text = scope.label->text;
            return in_frame && (text.front() != 'L' || std::stoi(text.substr(1)) == noted.label);
        };
        counts_.open += noted.certain != 0;
        if (next < placed_.size() && is_it(placed_[next])) {
            ++next;
            ++counts_.found;
        } else if (noted.certain != 0) {
            ++(noted.guard + sizeof(flameprobe_scope) <= reach ? counts_.missing : counts_.beyond);
        }
    }
    counts_.wrong += placed_.size() - next;
    constexpr std::uint64_t most_told = 20;
    static const bool tells_all = std::getenv("EXACT_VERBOSE") != nullptr;
    if (counts_.wrong != before.wrong && (tells_all || counts_.wrong <= most_told)) report("wrong", sp);
    if (counts_.missing != before.missing && tells_all) report("missing", sp);
}

void Observer::report(const char* what, std::uint64_t sp) const {
    std::fprintf(stderr, "%s at sp %lx:", what, sp);
    for (int i = 0; i < truth_.depth; ++i) {
        const Noted& noted = truth_.open[i];
        std::fprintf(stderr, " %s%d@%lx", noted.certain != 0 ? "" : "?", noted.label, noted.guard);
    }
    std::fprintf(stderr, " | found");
    for (const auto& scope : placed_) std::fprintf(stderr, " %u:%s", scope.frame, scope.label->text.c_str());
    std::fprintf(stderr, " | %s, frames", std::string(describe(walk_.end)).c_str());
    for (const auto& frame : walk_.frames) {
        const auto* const region = map_.find(frame.address);
        const std::string file = region == nullptr ? "?" : region->path.substr(region->path.rfind('/') + 1);
        const std::uint64_t from = region == nullptr ? 0 : region->start - region->file_offset;
        std::fprintf(stderr, " %s+%lx@%lx", file.c_str(), frame.address - from, frame.cfa);
    }
    std::fprintf(stderr, "\n");
}

}  // namespace exact
