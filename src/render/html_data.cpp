#include "render/html_data.hpp"

#include <zlib.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>

#include "render/describe.hpp"
#include "render/numbers.hpp"
#include "render/text.hpp"

namespace flameprobe {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t most_boxes = 400'000;     // some 5 MB of HTML, and half a second to show
constexpr std::size_t longest_string = 10'000;  // bytes

std::string_view basename_of(std::string_view path) { return path.substr(path.rfind('/') + 1); }

std::string base64(const std::vector<unsigned char>& bytes) {
    static constexpr std::string_view digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::string out;
    out.reserve((bytes.size() + 2) / 3 * 4);
    for (std::size_t at = 0; at < bytes.size(); at += 3) {
        const auto byte = [&](std::size_t i) { return i < bytes.size() ? bytes[i] : 0U; };
        const unsigned bits = byte(at) << 16 | byte(at + 1) << 8 | byte(at + 2);
        out += digits[bits >> 18];
        out += digits[bits >> 12 & 63];
        out += at + 1 < bytes.size() ? digits[bits >> 6 & 63] : '=';
        out += at + 2 < bytes.size() ? digits[bits & 63] : '=';
    }
    return out;
}

Result<std::string> pack(const std::string& text) {
    uLongf size = compressBound(text.size());
    std::vector<unsigned char> packed(size);
    if (compress2(packed.data(), &size, reinterpret_cast<const Bytef*>(text.data()), text.size(), 6) != Z_OK) {
        return Error{"the page's data could not be compressed: zlib is out of memory"};
    }
    packed.resize(size);
    return base64(packed);
}

/// Distinct strings in the order of their first use.
class Strings {
public:
    std::size_t add(std::string text) {
        const auto [at, added] = ids_.try_emplace(std::move(text), ids_.size());
        if (added) list_.push_back(at->first);
        return at->second;
    }
    const Json& list() const { return list_; }

private:
    std::map<std::string, std::size_t> ids_;
    Json list_ = Json::array();
};

/// The functions that have a box, numbered by name, and two that stand for what is no function.
class FunctionColumns {
public:
    FunctionColumns(const NamedProfile& profile, const CallTree& tree, const Palette& palette) : profile_(profile) {
        std::vector<FunctionId> used;
        for (const Box& box : tree.boxes) {
            if (box.kind == BoxKind::function) used.push_back(box.function);
        }
        const auto key = [&](FunctionId id) {
            const Function& function = profile.functions[id];
            return std::make_tuple(profile.strings.view(function.name), function.kind,
                                   profile.strings.view(function.module), profile.strings.view(function.file),
                                   function.line, id);
        };
        std::sort(used.begin(), used.end(), [&](FunctionId a, FunctionId b) { return key(a) < key(b); });
        used.erase(std::unique(used.begin(), used.end()), used.end());
        numbers_.resize(profile.functions.size());
        const auto classes = palette.classes();
        const auto color = [&](const std::string& name) {
            return std::find_if(classes.begin(), classes.end(), [&](const auto& one) { return one.name == name; }) -
                   classes.begin();
        };
        for (std::size_t number = 0; number < used.size(); ++number) {
            numbers_[used[number]] = number;
            add(profile.functions[used[number]], color(palette.class_of(profile, used[number])));
        }
        all_ = used.size();
        for (const char* name : {"all", "[narrow frames]"}) add_other(name, color("g0"));
        columns_ = {{"name", names_}, {"kind", kinds_},   {"file", places_},
                    {"line", lines_}, {"module", homes_}, {"color", colors_}};
    }

    std::size_t number(const Box& box) const {
        return box.kind == BoxKind::function ? numbers_[box.function] : box.kind == BoxKind::all ? all_ : narrow();
    }
    std::size_t narrow() const { return all_ + 1; }
    const Json& columns() const { return columns_; }
    const Json& files() const { return files_.list(); }
    const Json& modules() const { return modules_.list(); }

private:
    void add(const Function& function, std::ptrdiff_t color) {
        const auto text = [&](StringId id) { return shorten(clean_text(profile_.strings.view(id)), longest_string); };
        names_.push_back(function.name == 0 ? "[no name]" : text(function.name));
        kinds_.push_back(static_cast<unsigned>(function.kind));
        places_.push_back(files_.add(text(function.file)));
        lines_.push_back(function.line);
        homes_.push_back(modules_.add(std::string{basename_of(text(function.module))}));
        colors_.push_back(color);
    }
    void add_other(const char* name, std::ptrdiff_t color) {
        add({}, color);
        names_.back() = name;
        kinds_.back() = 6;
    }

    const NamedProfile& profile_;
    std::vector<std::size_t> numbers_;
    std::size_t all_ = 0;
    Strings files_, modules_;
    Json names_ = Json::array(), kinds_ = Json::array(), places_ = Json::array(), lines_ = Json::array(),
         homes_ = Json::array(), colors_ = Json::array(), columns_;
};

Json boxes_of(const CallTree& tree, const FunctionColumns& functions) {
    Json up = Json::array(), function = Json::array();
    for (std::uint32_t at = 0; at < tree.boxes.size(); ++at) {
        up.push_back(at - tree.boxes[at].parent);  // small numbers pack better than the parents themselves
        function.push_back(functions.number(tree.boxes[at]));
    }
    return {{"up", up}, {"function", function}};
}

Json counts_of(const NamedProfile& profile, const PageTree& page) {
    std::map<std::pair<std::uint32_t, ThreadId>, std::uint64_t> sums;
    for (const NamedCount& count : profile.counts) {
        if (count.weight > 0) sums[{page.places.box[count.node], count.thread}] += count.weight;
    }
    Json box = Json::array(), thread = Json::array(), weight = Json::array();
    std::uint32_t last = 0;
    for (const auto& [place, sum] : sums) {
        box.push_back(place.first - last);
        last = place.first;
        thread.push_back(place.second);
        weight.push_back(sum);
    }
    return {{"box", box}, {"thread", thread}, {"weight", weight}};
}

}  // namespace

Result<PageTree> build_page_tree(const NamedProfile& profile) {
    PageTree page;
    page.min_width = profile.nodes.size() <= most_boxes ? 0 : 100.0 / most_boxes;
    for (;; page.min_width *= 4) {
        auto tree = build_call_tree(profile, page.min_width, page.places);
        if (!tree) return tree.error();
        page.tree = std::move(*tree);
        if (page.tree.boxes.size() <= most_boxes) return page;
        if (page.min_width > 1)
            return Error{"the stacks are too deep for an HTML page (" + count_text(page.tree.depth) +
                         " frames): write an .svg"};
    }
}

Result<std::string> page_data(const NamedProfile& profile, const PageTree& page, const Palette& palette,
                              const FlameGraphOptions& options) {
    const FunctionColumns functions(profile, page.tree, palette);
    Json threads = Json::array();
    for (const Thread& thread : profile.threads) threads.push_back({thread.tid, clean_text(thread.name)});
    Json shades = Json::array();
    for (const NamedShade& shade : palette.classes()) shades.push_back({shade.shade.light, shade.shade.dark});
    const Json data = {{"reverse", options.reverse},
                       {"icicle", options.icicle},
                       {"byModule", palette.by_module()},
                       {"narrow", functions.narrow()},
                       {"functions", functions.columns()},
                       {"files", functions.files()},
                       {"modules", functions.modules()},
                       {"shades", shades},
                       {"boxes", boxes_of(page.tree, functions)},
                       {"counts", counts_of(profile, page)},
                       {"threads", threads}};
    return pack(data.dump(-1, ' ', false, Json::error_handler_t::replace));
}

std::vector<BusyFunction> busiest_functions(const NamedProfile& profile, const CallTree& tree, std::size_t most) {
    std::vector<BusyFunction> totals(profile.functions.size());
    std::vector<std::uint32_t> open(profile.functions.size());  // how often a function is on the path
    std::vector<std::uint32_t> path;
    for (std::uint32_t at = 1; at < tree.boxes.size(); ++at) {
        const Box& box = tree.boxes[at];
        if (box.kind != BoxKind::function) continue;
        for (; !path.empty() && path.back() != box.parent; path.pop_back()) --open[tree.boxes[path.back()].function];
        BusyFunction& total = totals[box.function];
        total.function = box.function;
        total.self += box.self;
        if (open[box.function]++ == 0) total.total += box.total;
        path.push_back(at);
    }
    std::erase_if(totals, [](const BusyFunction& total) { return total.total == 0; });
    const auto order = [&](const BusyFunction& one) {
        return std::make_tuple(~one.self, ~one.total, profile.strings.view(profile.functions[one.function].name),
                               one.function);
    };
    std::sort(totals.begin(), totals.end(), [&](const auto& a, const auto& b) { return order(a) < order(b); });
    if (totals.size() > most) totals.resize(most);
    return totals;
}

}  // namespace flameprobe
