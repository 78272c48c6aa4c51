#include "render/table_rows.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "profile/names.hpp"
#include "render/kernel_work.hpp"
#include "render/plain_name.hpp"
#include "render/role.hpp"
#include "render/text.hpp"

namespace flameprobe {

namespace {

class Rows {
public:
    explicit Rows(const NamedProfile& profile)
        : profile_(profile),
          roles_(function_roles(profile)),
          shown_(shown_functions(profile)),
          of_memory_(profile.has_run && counts_memory(profile.run)) {
        find_kinds();
        of_function_.assign(profile.functions.size(), none);
        row_of_.resize(profile.nodes.size());
        below_own_.resize(profile.nodes.size());
        const auto count = static_cast<NodeId>(profile.nodes.size());
        for (NodeId node = 1; node < count; ++node) {
            row_of_[node] = row_at(node);
            below_own_[node] = below_own_[profile.nodes[node].parent] || roles_[profile.function_of(node)] == Role::own;
        }
    }
    /// With their sums.
    std::vector<TableRow> take() {
        const std::vector<FunctionTotal> sums = sums_of_rows(profile_, row_of_, rows_.size());
        for (std::size_t row = 0; row < rows_.size(); ++row) {
            const FunctionId function = rows_[row].total.function;
            rows_[row].total = sums[row];
            rows_[row].total.function = function;
        }
        return std::move(rows_);
    }
    bool is_rest(std::size_t row) const { return rest_[row]; }

    NodeRows of_nodes() const {
        NodeRows found;
        found.of_node.resize(row_of_.size());
        std::vector<std::uint32_t> numbers(rows_.size());
        for (NodeId node = 1; node < row_of_.size(); ++node) {
            const std::uint32_t row = row_of_[node];
            const FunctionId own = shown_[profile_.function_of(node)];
            const bool is_own = rows_[row].call.empty() && rows_[row].total.function == own;
            if (is_own || roles_[own] == Role::thread) continue;
            if (numbers[row] == 0) {
                found.rows.push_back(rows_[row]);
                numbers[row] = static_cast<std::uint32_t>(found.rows.size());
            }
            found.of_node[node] = numbers[row];
        }
        return found;
    }

private:
    static bool counts_memory(const RunInfo& run) {
        return counts_bytes(run) || counts_living(run) || run.event.starts_with(event_name::alloc);
    }
    /// What names say, which takes longer than all else if each node asks.
    void find_kinds() {
        kinds_.resize(profile_.functions.size());
        for (FunctionId id = 0; id < kinds_.size(); ++id) {
            const std::string_view name = profile_.strings.view(profile_.functions[id].name);
            if (roles_[id] != Role::own && roles_[id] != Role::library) continue;
            kinds_[id] = is_allocator(name) ? Kind::allocator : is_stand_in(name) ? Kind::stand_in : Kind::plain;
        }
    }
    /// Below the kernel's entry, and in an allocator, all is the row that it began with.
    std::uint32_t row_at(NodeId node) {
        const FunctionId id = shown_[profile_.function_of(node)];
        switch (roles_[id]) {
            case Role::kernel:
                return kernel_row(node);
            case Role::glue:
                return caller_row(node, id);
            case Role::thread:
                return named(start, id, true);
            case Role::note:
            case Role::preempted:
                return function(id, true);
            case Role::own:
            case Role::library:
                break;
            default:
                return function(id);
        }
        // Who allocates is the program's own function that a library allocates for.
        if (of_memory_ && roles_[id] == Role::library && below_own_[profile_.nodes[node].parent])
            return caller_row(node, id);
        if (kinds_[id] == Kind::allocator) return of_memory_ ? caller_row(node, id) : named("[malloc and free]", id);
        if (kinds_[id] == Kind::stand_in) return nameless_row(node, id);
        return is_inside_library(node, id) ? row_of_[profile_.nodes[node].parent] : function(id);
    }
    /// What a library's function inlined of its library is that function, which own code called.
    bool is_inside_library(NodeId node, FunctionId id) const {
        const NodeId parent = profile_.nodes[node].parent;
        return profile_.functions[id].kind == FrameKind::inlined && roles_[id] == Role::library && parent != 0 &&
               roles_[profile_.function_of(parent)] == Role::library;
    }
    std::uint32_t caller_row(NodeId node, FunctionId id) {
        const NodeId parent = profile_.nodes[node].parent;
        return parent == 0 || rest_[row_of_[parent]] ? named(start, id, true) : row_of_[parent];
    }
    /// The kernel's entry does not tell for what, so that is the first frame that does.
    std::uint32_t kernel_row(NodeId node) {
        const NodeId parent = profile_.nodes[node].parent;
        if (parent != 0 && roles_[profile_.function_of(parent)] == Role::kernel &&
            rows_[row_of_[parent]].call != entered)
            return row_of_[parent];
        const std::string_view work = kernel_work(profile_.name(profile_.nodes[node].frame));
        return named(work.empty() ? entered : "[kernel: " + std::string(work) + "]",
                     shown_[profile_.function_of(node)]);
    }

    /// Code of a library that has no name says below which of its functions with a name it ran.
    std::uint32_t nameless_row(NodeId node, FunctionId id) {
        const NodeId parent = profile_.nodes[node].parent;
        const StringId module = profile_.functions[id].module;
        if (parent == 0 || module == 0 || profile_.function(parent).module != module) return function(id);
        const FunctionId caller = profile_.function_of(parent);
        const bool nameless = is_stand_in(profile_.strings.view(profile_.functions[caller].name));
        if (nameless) return rows_[row_of_[parent]].call.empty() ? function(id) : row_of_[parent];
        if (roles_[caller] != Role::library) return function(id);
        return named("in " + plain_name(profile_, caller) + ", " + nameless_file(profile_, id), id);
    }

    std::uint32_t function(FunctionId id, bool rest = false) {
        if (of_function_[id] == none) {
            of_function_[id] = static_cast<std::uint32_t>(rows_.size());
            add({}, id, rest);
        }
        return of_function_[id];
    }
    std::uint32_t named(const std::string& name, FunctionId id, bool rest = false) {
        const auto [at, is_new] = of_name_.try_emplace(name, static_cast<std::uint32_t>(rows_.size()));
        if (is_new) add(name, id, rest);
        return at->second;
    }
    void add(const std::string& call, FunctionId id, bool rest) {
        rows_.emplace_back().call = call;
        rows_.back().total.function = id;
        rows_.back().leads_on = call == start || call == entered;
        rest_.push_back(rest);
    }
    static constexpr const char *start = "start and wrappers", *entered = "[kernel]";

    const NamedProfile& profile_;
    std::vector<Role> roles_;
    std::vector<FunctionId> shown_;
    bool of_memory_;
    std::vector<std::uint32_t> row_of_;  // by node
    std::vector<bool> below_own_;        // by node
    std::vector<TableRow> rows_;
    std::vector<bool> rest_;
    static constexpr std::uint32_t none = ~std::uint32_t{0};
    enum class Kind : std::uint8_t { plain, allocator, stand_in };
    std::vector<Kind> kinds_;                 // of functions
    std::vector<std::uint32_t> of_function_;  // the row
    std::map<std::string, std::uint32_t> of_name_;
};

}  // namespace

FunctionTable table_rows(const NamedProfile& profile, bool by_total) {
    FunctionTable table;
    table.samples = total_weight(profile);
    if (profile.nodes.empty()) return table;
    const auto name = [&](const TableRow& row) {
        return row.call.empty() ? std::string(profile.strings.view(profile.functions[row.total.function].name))
                                : row.call;
    };
    Rows rows(profile);
    std::vector<TableRow> all = rows.take();
    for (std::size_t at = 0; at < all.size(); ++at) {
        if (all[at].leads_on)
            all[at].total.total = all[at].total.self, all[at].total.total_hits = all[at].total.self_hits;
        if (all[at].total.total == 0) continue;
        if (!rows.is_rest(at)) {
            table.rows.push_back(std::move(all[at]));
        } else if (all[at].total.self != 0) {
            all[at].call = name(all[at]);
            table.rest.push_back(std::move(all[at]));
        }
    }
    std::ranges::stable_sort(table.rows, [&](const TableRow& a, const TableRow& b) {
        const auto key = [&](const FunctionTotal& one) {
            return by_total ? std::pair(one.total, one.self) : std::pair(one.self, one.total);
        };
        return key(a.total) != key(b.total) ? key(a.total) > key(b.total) : name(a) < name(b);
    });
    std::ranges::stable_sort(table.rest,
                             [](const TableRow& a, const TableRow& b) { return a.total.self > b.total.self; });
    return table;
}

NodeRows node_rows(const NamedProfile& profile) { return Rows(profile).of_nodes(); }

std::string rest_text(const FunctionTable& table) {
    std::string text;
    for (const TableRow& row : table.rest)
        text += (text.empty() ? "not in the table: " : ", ") + row.call + " " +
                percent_text(static_cast<double>(row.total.self), static_cast<double>(table.samples));
    return text;
}

}  // namespace flameprobe
