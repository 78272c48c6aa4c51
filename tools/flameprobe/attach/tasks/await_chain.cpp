#include "await_chain.hpp"

#include "future_names.hpp"

namespace flameprobe::async {
namespace {

constexpr int most_nested = 60;
constexpr std::size_t most_met = 256, most_leaves = 64;

/// Of another task, whose address it begins with.
bool is_handle(std::string_view type) {
    return type.starts_with("tokio::runtime::task::join::JoinHandle<") || type.starts_with("async_task::task::Task<");
}
bool is_both(std::string_view type) {
    return type.starts_with("futures_lite::future::Zip<") || type.starts_with("futures_lite::future::TryZip<");
}

/// The macro's own line says nothing of the program.
bool is_join(std::string_view file) {
    return file.ends_with("/macros/join.rs") || file.ends_with("/macros/try_join.rs");
}
bool is_macro(std::string_view file) { return file.ends_with("/macros/select.rs") || is_join(file); }

/// Where an async function or block is: what is known of it in all states.
std::string_view file_of(const Type& type) {
    for (const auto& [state, variant] : type.variants)
        if (variant.type->name.find("::Suspend") != std::string::npos && !is_macro(variant.file)) return variant.file;
    return {};
}

}  // namespace

std::string text_of_branches(std::size_t count, bool all) {
    return (all ? "join of " : "select of ") + std::to_string(count);
}

FrameNumber ChainReader::number_of(const ChainFrame& frame) {
    const std::string key =
        frame.name + '\n' + frame.file + '\n' + std::to_string(frame.line) + (frame.in_words ? "w" : "");
    const auto [known, is_new] = numbers_.try_emplace(key, static_cast<FrameNumber>(frames_.size()));
    if (is_new) frames_.push_back(frame);
    return known->second;
}

// Methods are named by the type that they are of.
std::string ChainReader::name_of(Type& type) {
    if (!is_method(type.name) || type.variants.empty()) return shown_name(type.name);
    Type& first = *type.variants.begin()->second.type;
    types_.build(first);
    const Member* const self = first.member("self");
    if (self == nullptr) return shown_name(type.name);
    types_.build(*self->type);
    Type* const of = self->type->target != nullptr ? self->type->target : self->type;
    types_.build(*of);
    return method_name(type.name, of->name);
}

FrameNumber ChainReader::frame_of(Type& type, const Variant* variant) {
    const void* const key = variant != nullptr ? static_cast<const void*>(variant) : &type;
    const auto [known, is_new] = frame_of_.try_emplace(key, 0);
    if (!is_new) return known->second;
    if (type.is_coroutine)
        for (auto& [state, each] : type.variants) types_.build(*each.type);
    ChainFrame frame{name_of(type), std::string(type.is_coroutine ? file_of(type) : ""), 0, false};
    if (variant != nullptr && last_word(variant->type->name).starts_with("Suspend") && !is_macro(variant->file))
        frame.line = variant->line;
    return known->second = number_of(frame);
}

std::uint64_t ChainReader::number_at(std::uint64_t address, std::size_t size) {
    std::uint64_t value = 0;
    if (size > sizeof value) return doubtful_ = true, ~std::uint64_t{0};
    if (address >= base_ && address + size <= base_ + bytes_.size()) {
        const std::uint64_t offset = address - base_;
        value = number_in(bytes_, offset, size);
        inside_.push_back({static_cast<std::uint32_t>(offset), static_cast<std::uint32_t>(size), value});
        return value;
    }
    outside_.push_back({address, size});
    if (!read_whole(address, &value, size)) return doubtful_ = true, ~std::uint64_t{0};
    return value;
}

ChainNode& ChainReader::child(ChainNode& node, FrameNumber frame) {
    return node.children.emplace_back(ChainNode{.frame = frame});
}

ChainNode ChainReader::read(std::uint64_t address, const TaskTable& table, std::span<const std::byte> bytes) {
    inside_.clear();
    outside_.clear();
    met_.clear();
    path_.clear();
    leaves_ = 0;
    doubtful_ = false;
    base_ = address;
    bytes_ = bytes;
    ChainNode task{.frame = task_frame(table)};
    const Root* const root = root_of(table);
    if (root == nullptr) return task;
    ChainNode above{};
    if (root->stage == nullptr) {
        future(*root->future, address + table.future, above, 0, false);
        return under(std::move(task), std::move(above));
    }
    const std::uint64_t at = address + root->stage_offset;
    const Variant* const stage = root->stage->variant(
        root->stage->state_size == 0 ? 0 : number_at(at + root->stage->state_offset, root->stage->state_size));
    if (stage == nullptr) return doubtful_ = true, task;
    types_.build(*stage->type);
    if (last_word(stage->type->name) != "Running" || stage->type->members.empty()) {
        child(task, words("[done]"));
        return task;
    }
    const Member& member = stage->type->members.front();
    future(*member.type, at + stage->offset + member.offset, above, 0, false);
    return under(std::move(task), std::move(above));
}

/// The task's own future is its first frame.
ChainNode ChainReader::under(ChainNode task, ChainNode above) const {
    if (above.children.size() == 1 && frames_[above.children.front().frame].name == frames_[task.frame].name)
        return std::move(above.children.front());
    task.children = std::move(above.children);
    return task;
}

void ChainReader::leaf(ChainNode& node, std::string_view type, std::uint64_t address) {
    ++leaves_;
    std::string text;
    if (is_handle(type)) {
        const std::uint64_t of = number_at(address, sizeof of);
        const FoundTask task = read_task(of, tables_);
        const std::string name = task.table == nullptr ? std::string() : frames_[task_frame(*task.table)].name;
        const bool pool = name.find("BlockingTask<") != name.npos || name.starts_with("blocking::");
        text = task.table != nullptr && task.table->of_smol ? "Task" : "JoinHandle";
        if (pool)
            text = "blocking pool";
        else if (!name.empty() && !name.starts_with('['))
            text += " of " + name;
    }
    if (!text.empty()) {
        child(node, words(text));
        return;
    }
    // The outermost of the library's futures says it: a watch channel waits for a Notify.
    for (auto at = path_.rbegin(); at != path_.rend(); ++at) {
        const std::string_view words = what_it_waits_for(*at);
        if (words.empty() && (!text.empty() || !is_of_runtime(*at))) break;
        if (!words.empty()) text = words;
    }
    if (!text.empty()) child(node, words(text));
}

void ChainReader::coroutine(Type& type, std::uint64_t address, ChainNode& node, int depth) {
    if (met_.size() > most_met || !met_.insert(address * 31 + type.die).second) return;
    const Variant* const state = type.variant(number_at(address + type.state_offset, type.state_size));
    if (state == nullptr) {
        doubtful_ = true;
        return;
    }
    types_.build(*state->type);
    const std::string_view name = last_word(state->type->name);
    const bool hidden = (!path_.empty() || is_of_executor(type.name)) &&
                        (is_future_glue(type.name) || (is_of_runtime(type.name) && is_of_runtime(path_.back())));
    ChainNode& own = hidden ? node : child(node, frame_of(type, state));
    if (!is_future_glue(type.name)) path_.push_back(type.name);
    if (!name.starts_with("Suspend")) {
        ++leaves_;
        child(own, words(name == "Unresumed" ? "[not begun]" : name == "Returned" ? "[done]" : "[panicked]"));
    } else if (const Member* const awaitee = state->type->member("__awaitee")) {
        if (!hidden) own.joins = is_join(state->file);
        future(*awaitee->type, address + state->offset + awaitee->offset, own, depth + 1, true);
    } else {
        ++leaves_;
        child(own, words("yield"));
    }
    if (!is_future_glue(type.name)) path_.pop_back();
}

/// Puts what is in `type`, at `address`, below `node`. What is `awaited` has a frame in any case, or ends the chain.
void ChainReader::future(Type& type, std::uint64_t address, ChainNode& node, int depth, bool awaited) {
    types_.build(type);
    if (depth > most_nested || leaves_ >= most_leaves) {
        child(node, words("[and more]"));
        return;
    }
    if (type.is_coroutine) return coroutine(type, address, node, depth);
    const bool glue = is_future_glue(type.name) || type.tag == DW_TAG_pointer_type || type.is_fat;
    const bool shown = (type.is_future || awaited) && !glue &&
                       !(is_of_runtime(type.name) && !path_.empty() && is_of_runtime(path_.back()));
    const std::size_t before = leaves_;
    ChainNode* const own = shown ? &child(node, frame_of(type, nullptr)) : &node;
    const bool counts = type.is_future || awaited;
    const bool on_path = counts && !is_future_glue(type.name);
    if (on_path) path_.push_back(type.name);
    if (is_both(type.name)) own->joins = true;
    if (!is_handle(type.name)) inside(type, address, *own, depth);
    if (leaves_ == before && counts) leaf(*own, type.name, address);
    if (on_path) path_.pop_back();
}

void ChainReader::follow_fat(Type& type, std::uint64_t address, ChainNode& node, int depth) {
    const bool first = type.members.front().name == "pointer";
    const std::uint64_t data = number_at(address + type.members[first ? 0 : 1].offset, 8);
    const std::uint64_t table = number_at(address + type.members[first ? 1 : 0].offset, 8);
    Type* const behind = types_.behind(table - tables_.bias());
    if (behind != nullptr) return future(*behind, data, node, depth + 1, true);
    ++leaves_;
    child(node, words("[not known]"));
}

void ChainReader::inside(Type& type, std::uint64_t address, ChainNode& node, int depth) {
    if (is_shared(type.name)) return;
    if (type.is_fat) {
        if (types_.holds_future(type)) follow_fat(type, address, node, depth);
        return;
    }
    if (type.tag == DW_TAG_pointer_type) {
        if (type.target == nullptr || !types_.holds_future(type)) return;
        const std::uint64_t to = number_at(address, 8);
        if (to == 0 || to == ~std::uint64_t{0} || met_.size() >= most_met ||
            !met_.insert(to * 31 + type.target->die + 7).second)
            return;
        return future(*type.target, to, node, depth + 1, false);
    }
    if (type.is_enum) {
        if (!types_.holds_future(type)) return;
        const Variant* const state =
            type.variant(type.state_size == 0 ? 0 : number_at(address + type.state_offset, type.state_size));
        if (state == nullptr) return;
        types_.build(*state->type);
        for (const Member& member : state->type->members)
            if (types_.holds_future(*member.type))
                future(*member.type, address + state->offset + member.offset, node, depth + 1, false);
        return;
    }
    const bool timeout = type.name.starts_with("tokio::time::timeout::Timeout<");
    for (const Member& member : type.members)
        if (types_.holds_future(*member.type) && !(timeout && member.name == "delay"))
            future(*member.type, address + member.offset, node, depth + 1, false);
}

}  // namespace flameprobe::async
