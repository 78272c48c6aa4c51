#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "collect/kept_files.hpp"
#include "profile/sink.hpp"
#include "profile/stack_table.hpp"
#include "unwind/code_map.hpp"
#include "unwind/unwinder.hpp"

namespace flameprobe {

/// An open scope, shown on the leaf's side of its frame.
struct StackLabel {
    std::uint32_t frame;  // from the leaf
    std::uint32_t text;
};

/// A frame for intern() that stands for the note [recursion].
inline constexpr CodeFrame recursion_note{0, 0, CodeFrame::no_region - 1};

/// One step of what an address stands for, the innermost first.
struct CodeName {
    std::string name, file;
    std::uint32_t line = 0, decl_line = 0;
    bool inlined = false;
};
/// Names addresses of a mapping, whose file is read by `file`; of memory without a file from what names code that was
/// made at run time. An empty list: nothing is known. For a program that watches another process from outside: it has
/// readers of debug information, and the files and maps may be in a container, or gone by the end. Null in a host.
using NameCode = std::vector<std::vector<CodeName>> (*)(const Mapping& mapping,
                                                        const std::vector<std::uint64_t>& addresses,
                                                        const ReadFile& file);
inline NameCode name_code = nullptr;

/// The stacks of a profile: each is stored once, and the sink is told of it, its locations and their mappings before
/// the first use. The collector thread only.
class ProfileStacks {
public:
    /// Both must outlive it. `start_ns` of CLOCK_MONOTONIC: when the profile began.
    ProfileStacks(ProfileSink& sink, const CodeMap& code_map, std::uint64_t start_ns);

    /// What stands before a stack's outermost frame.
    enum class Before : std::uint8_t { nothing, truncated, read_later };
    /// `frames`, leaf first, and above them the kernel's. Labels of frames that were cut are kept. `call`: a note as
    /// the leaf, 0 for none.
    StackId intern(std::span<const CodeFrame> frames, Before before, const std::vector<StackLabel>& labels,
                   std::span<const std::uint64_t> kernel, MappingId call);
    /// Code addresses, root first, with a note as the leaf. Addresses at which there is no code are left out.
    StackId of_addresses(std::initializer_list<std::uint64_t> addresses, const std::string& note);
    StackId of_note(Note note);
    /// The stack `parent` with a frame of ours as its leaf.
    StackId note_above(StackId parent, const std::string& text) { return child(parent, named(note_of(text))); }
    /// The same for the holder of a lock (is_holder_note()): the frame's address is the lock's.
    StackId held_above(StackId parent, const std::string& text, std::uint64_t lock) {
        return child(parent, {note_of(text), lock});
    }
    /// The same for a frame that has a place in the source, but no address. `next_string`: as name_what_is_gone().
    StackId named_above(StackId parent, const CodeName& frame, std::uint32_t& next_string);
    /// The whole of `stack` on the leaf's side of `parent`.
    StackId stack_above(StackId parent, StackId stack);

    /// "leaf < caller < ... < root", by names as symbol tables have them, for the log: it takes a while.
    std::string text_of(StackId stack) const;

    /// A stack of an earlier profile. `text`: the number here of a scope's text there. Code that does not lie where it
    /// lay has no name.
    StackId same_stack(const ProfileStacks& before, StackId stack,
                       const std::function<std::uint32_t(std::uint32_t)>& text);

    StackId intern(std::span<const CodeFrame> frames, bool whole, const std::vector<StackLabel>& labels,
                   std::span<const std::uint64_t> kernel, MappingId call) {
        return intern(frames, whole ? Before::nothing : Before::truncated, labels, kernel, call);
    }
    MappingId note_of(const std::string& text);
    /// The note that names the system call which the leaf of these frames made.
    MappingId call_of(std::span<const CodeFrame> frames);
    MappingId note_of_call(std::optional<unsigned> number);
    /// Adds a just-in-time compiler's dump to the mappings: it names code that lies in no file.
    void add_jit_dump(const std::string& path);
    /// Names, for readers of the profile, the code in files that are not any more at their paths, and of the vdso; of a
    /// process that is watched also the code that it has made. To be called before the profile is read. `next_string`:
    /// the first id of a string that is free.
    void name_what_is_gone(std::uint32_t& next_string);
    void close_files() { files_.close(); }
    std::size_t count() const { return table_.stacks(); }
    std::size_t memory() const;  // bytes, estimated

private:
    static Location named(MappingId note);
    Location location_of(const CodeFrame& frame);
    StackId push(StackId parent, const Location& location);
    StackId child(StackId parent, const Location& location);
    MappingId mapping_of(std::uint32_t region, std::uint64_t address);
    MappingId same_mapping(const ProfileStacks& before, const Location& location);
    std::vector<std::vector<CodeName>> names_in(MappingId id, bool made_at_run_time,
                                                const std::vector<std::uint64_t>& addresses) const;

    ProfileSink& sink_;
    const CodeMap& code_map_;
    const std::uint64_t start_ns_;
    StackTable table_;
    KeptFiles files_;
    struct Step {
        StackId parent;
        Location location;
        StackId id;
    };
    std::vector<Step> path_;  // of the last stack, root first
    std::size_t depth_ = 0;   // how much of it belongs to the stack that is being interned
    std::unordered_map<std::uint32_t, MappingId> mapping_of_region_;
    std::map<std::string, MappingId> notes_;                                // by text
    std::map<std::string, std::uint64_t> frames_;                           // by name and place
    MappingId frames_mapping_ = 0;                                          // of these, once there are some
    std::map<std::pair<std::uint32_t, std::uint64_t>, MappingId> call_at_;  // by region and pc; 0: not known there
    std::vector<bool> named_;                                               // by location
    std::vector<MappingId> made_at_run_time_;                               // memory with code that is of no file
    MappingId next_mapping_ = 0;
};

}  // namespace flameprobe
