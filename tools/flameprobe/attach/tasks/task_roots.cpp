// Where a type of task has its future, and of which type that is.
#include "await_chain.hpp"
#include "future_names.hpp"

namespace flameprobe::async {

/// Functions that are alike may be one in the program: then the table's numbers tell whether the type is right.
bool ChainReader::agrees(const TaskTable& table, Type& cell) const {
    const Member* const trailer = cell.member("trailer");
    return trailer != nullptr && trailer->offset == table.trailer;
}

/// The stage in which the future is; null if `stage` has none.
const Variant* ChainReader::running_of(const Type& stage) {
    const auto runs = [&](const Variant& variant) {
        types_.build(*variant.type);
        return last_word(variant.type->name) == "Running" && variant.type->members.size() == 1;
    };
    for (const auto& [state, variant] : stage.variants)
        if (runs(variant)) return &variant;
    return stage.other && runs(*stage.other) ? &*stage.other : nullptr;
}

const ChainReader::Root* ChainReader::root_of(const TaskTable& table) {
    const auto [known, is_new] = roots_.try_emplace(table.poll ^ std::uint64_t{table.trailer} << 48);
    if (is_new) table.of_smol ? find_smol_root(table, known->second) : find_root(table, known->second);
    return known->second.future == nullptr ? nullptr : &known->second;
}

void ChainReader::find_root(const TaskTable& table, Root& root) {
    Type* at = types_.cell_of(table.poll - tables_.bias());
    if (at == nullptr || !agrees(table, *at)) return;
    std::uint64_t offset = 0;
    for (const std::string_view name : {"core", "stage"}) {
        const Member* const member = at->member(name);
        if (member == nullptr) return;
        at = member->type;
        offset += member->offset;
        types_.build(*at);
    }
    while (!at->is_enum && at->members.size() == 1) {  // the cells around it
        offset += at->members.front().offset;
        at = at->members.front().type;
        types_.build(*at);
    }
    const Variant* const running = running_of(*at);
    if (running == nullptr) return;
    root.stage = at;
    root.stage_offset = offset;
    root.future = running->type->members.front().type;
    types_.build(*root.future);
    root.frame = frame_of(*root.future, nullptr);
}

// The executor's own future, which takes the task off its list, has the program's in it: as a member, or from its
// start.
void ChainReader::find_smol_root(const TaskTable& table, Root& root) {
    root.future = types_.future_of(table.poll - tables_.bias());
    Type* inner = root.future;
    while (inner != nullptr && is_of_executor(inner->name)) {
        Type* const fields = inner->variants.empty() ? inner : inner->variants.begin()->second.type;
        types_.build(*fields);
        const Member* const member = fields->member("future");
        if (member == nullptr) break;
        inner = member->type;
        types_.build(*inner);
    }
    if (inner != nullptr) root.frame = frame_of(*inner, nullptr);
}

FrameNumber ChainReader::task_frame(const TaskTable& table) {
    const Root* const root = root_of(table);
    return root != nullptr ? root->frame : words("[no layout: build with debug = true]");
}

}  // namespace flameprobe::async
