// What a suspended task waits for: its futures, from the task's own to the leaf, read out of a copy of its memory.
#pragma once

#include <cstdint>
#include <cstring>
#include <functional>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "future_types.hpp"
#include "task_tables.hpp"

namespace flameprobe::async {

/// A frame of the picture. `in_words`: what is waited for, or a remark in brackets; else a future's name.
struct ChainFrame {
    std::string name, file;
    std::uint32_t line = 0;
    bool in_words = false;
};
using FrameNumber = std::uint32_t;

/// What was read of a task's own memory, and the value that was there.
struct ReadValue {
    std::uint32_t offset = 0, size = 0;
    std::uint64_t value = 0;
};

/// `size` bytes at most 8, at `offset`, as a number.
inline std::uint64_t number_in(std::span<const std::byte> bytes, std::size_t offset, std::size_t size) {
    std::uint64_t value = 0;
    std::memcpy(&value, bytes.data() + offset, size);
    return value;
}

/// A task's futures as a tree: more than one child is waited for at once.
struct ChainNode {
    FrameNumber frame = 0;
    bool joins = false;  // it waits for all of them
    std::vector<ChainNode> children{};

    bool operator==(const ChainNode&) const = default;
};

class ChainReader {
public:
    /// `task_at`: what a JoinHandle's address leads to, in words. All must outlive the reader.
    ChainReader(FutureTypes& types, const TaskTables& tables) : types_(types), tables_(tables) {}

    /// The chain of a task whose memory, up to its trailer, is `bytes`. Without children and with the frame `no_layout`
    /// where its type is not known.
    ChainNode read(std::uint64_t address, const TaskTable& table, std::span<const std::byte> bytes);
    /// Its first frame alone.
    FrameNumber task_frame(const TaskTable& table);
    /// What decided the last chain, in the task's own memory: where these values are, the chain is the same, if it was
    /// read from nothing outside.
    const std::vector<ReadValue>& inside() const { return inside_; }
    /// Memory outside of the task's that the last chain was read from: it may change while the task's does not.
    const std::vector<Place>& outside() const { return outside_; }
    /// Whether the last chain has a place that could not be right.
    bool doubtful() const { return doubtful_; }

    const ChainFrame& frame(FrameNumber number) const { return frames_[number]; }
    FrameNumber words(const std::string& text) { return number_of({text, {}, 0, true}); }

private:
    struct Root {
        Type* future = nullptr;
        Type* stage = nullptr;  // tokio's (runtime/task/core.rs: Stage)
        std::uint64_t stage_offset = 0;
        FrameNumber frame = 0;
    };
    const Root* root_of(const TaskTable& table);
    void find_root(const TaskTable& table, Root& root);
    void find_smol_root(const TaskTable& table, Root& root);
    const Variant* running_of(const Type& stage);
    bool agrees(const TaskTable& table, Type& cell) const;
    ChainNode under(ChainNode task, ChainNode above) const;
    std::uint64_t number_at(std::uint64_t address, std::size_t size);
    void coroutine(Type& type, std::uint64_t address, ChainNode& node, int depth);
    void future(Type& type, std::uint64_t address, ChainNode& node, int depth, bool awaited);
    void inside(Type& type, std::uint64_t address, ChainNode& node, int depth);
    void follow_fat(Type& type, std::uint64_t address, ChainNode& node, int depth);
    void leaf(ChainNode& node, std::string_view type, std::uint64_t address);
    std::string name_of(Type& type);
    FrameNumber frame_of(Type& type, const Variant* variant);
    FrameNumber number_of(const ChainFrame& frame);
    ChainNode& child(ChainNode& node, FrameNumber frame);

    FutureTypes& types_;
    const TaskTables& tables_;
    std::vector<ChainFrame> frames_;
    std::unordered_map<std::string, FrameNumber> numbers_;
    std::unordered_map<const void*, FrameNumber> frame_of_;  // by Type, or Variant
    std::unordered_map<std::uint64_t, Root> roots_;          // by poll's address

    std::uint64_t base_ = 0;
    std::span<const std::byte> bytes_;
    std::vector<ReadValue> inside_;
    std::vector<Place> outside_;
    std::unordered_set<std::uint64_t> met_;
    std::vector<std::string_view> path_;  // the types from the task to where it is read
    std::size_t leaves_ = 0;
    bool doubtful_ = false;
};

/// A frame above a node that waits for several futures at once: "select of 3", or "join of 3".
std::string text_of_branches(std::size_t count, bool all);

}  // namespace flameprobe::async
