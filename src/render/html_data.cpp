
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <nlohmann/json.hpp>
#include <set>
#include <vector>

#include "base/binary_text.hpp"
#include "profile/task_event.hpp"
#include "render/answer.hpp"
#include "render/call_tree.hpp"
#include "render/function_totals.hpp"
#include "render/page_parts.hpp"
#include "render/palette.hpp"
#include "render/plain_name.hpp"
#include "render/run_facts.hpp"
#include "render/text.hpp"

namespace flameprobe {

namespace {

using Json = nlohmann::ordered_json;

/// Clean text of a source line, with tabs expanded to four columns.
std::string clean_line(std::string_view raw) {
    std::string text;
    for (const char letter : raw) {
        if (letter == '\t')
            text.append(4 - text.size() % 4, ' ');
        else
            text += letter;
    }
    return clean_text(text);
}

Result<std::string> pack(const std::string& text) {
    uLongf size = compressBound(text.size());
    std::vector<unsigned char> packed(size);
    if (compress2(packed.data(), &size, reinterpret_cast<const Bytef*>(text.data()), text.size(), 6) != Z_OK) {
        return Error{"the page's data could not be compressed: zlib is out of memory"};
    }
    return base64({reinterpret_cast<const char*>(packed.data()), size});
}

void add_sides(Json& facts, const PageSides& sides, const PageNumbers& numbers, const std::vector<FunctionId>& shown) {
    facts["sides"] = {{"names", {clean_text(sides.names[0]), clean_text(sides.names[1])}},
                      {"isTime", {sides.is_time[0], sides.is_time[1]}},
                      {"byAmount", sides.by_amount},
                      {"bySelf", sides.by_self},
                      {"widening", sides.widening},
                      {"wideningOf", Json::object()},
                      {"units", sides.units},
                      {"unit", clean_text(sides.unit)},
                      {"opens", Json::array()}};
    for (FunctionId id = 0; id < sides.widening_of.size(); ++id)
        if (shown[id] == id && sides.widening_of[id] != std::array<double, 2>{1, 1})
            facts["sides"]["wideningOf"][std::to_string(numbers.number_of[id])] = sides.widening_of[id];
    for (const FunctionId id : sides.opens) facts["sides"]["opens"].push_back(numbers.number_of[shown[id]]);
    for (const ChangeShade& shade : change_shades) {
        facts["shades"].push_back({shade.name, shade.shade.light, shade.shade.dark});
        facts["sides"]["legend"].push_back({shade.name, shade.meaning});
    }
}

Json line_json(const SourceLine& line, const PageNumbers& numbers) {
    Json inlined = Json::array();
    for (const SourceLine::Inlined& inner : line.inlined) {
        Json lines = Json::array();
        for (const SourceLine& one : inner.lines) lines.push_back(line_json(one, numbers));
        inlined.push_back({numbers.number_of[inner.function], std::move(lines)});
    }
    return {line.line, line.self.weight, line.total.weight, std::move(inlined), line.total.hits};
}

/// What the page may fold, and when it does.
Json folding_json() {
    Json kinds = Json::array();
    for (const FrameKind kind : {FrameKind::user, FrameKind::inlined, FrameKind::kernel, FrameKind::scope,
                                 FrameKind::note, FrameKind::thread, FrameKind::held})
        if (may_be_folded(kind)) kinds.push_back(static_cast<unsigned>(kind));
    Json others = Json::array();
    for (const Role role : {Role::own, Role::library, Role::glue, Role::kernel})
        if (is_others(role)) others.push_back(static_cast<unsigned>(role));
    return {{"longest", longest_chain},    {"kinds", std::move(kinds)}, {"rare", rare_own},
            {"others", std::move(others)}, {"leaving", most_leaving},   {"naming", least_naming},
            {"entering", entering}};
}

Json text_json(const std::vector<SourceText>& text) {
    Json lines = Json::array();
    for (const SourceText& line : text) lines.push_back({line.line, clean_line(line.text)});
    return lines;
}

Json source_json(const PageSource& source, const PageNumbers& numbers) {
    Json functions = Json::array(), inlined = Json::array();
    for (const FunctionSource& function : source.functions) {
        Json lines = Json::array(), code = Json::array();
        for (const SourceLine& line : function.lines) lines.push_back(line_json(line, numbers));
        for (const Instruction& one : function.instructions)
            code.push_back({one.address, one.self.weight, clean_text(one.text), one.self.hits});
        functions.push_back({{"fn", numbers.number_of[function.function]},
                             {"self", function.self},
                             {"note", clean_text(function.note)},
                             {"lines", std::move(lines)},
                             {"text", text_json(function.text)},
                             {"code", std::move(code)}});
    }
    for (const InlinedText& one : source.inlined)
        inlined.push_back({numbers.number_of[one.function], text_json(one.text)});
    return {{"functions", std::move(functions)}, {"inlined", std::move(inlined)}};
}

/// [tid, name], and of the processes of a run the number of the frame that has the thread's process.
Json threads_json(const NamedProfile& profile, const PageNumbers& numbers) {
    Json threads = Json::array();
    for (const Thread& thread : profile.threads) threads.push_back({thread.tid, clean_text(thread.name)});
    if (!profile.process_first || threads.empty()) return threads;  // a comparison has none
    std::vector<NodeId> process(profile.nodes.size());
    for (NodeId id = 1; id < process.size(); ++id)
        process[id] = profile.nodes[id].parent == 0 ? id : process[profile.nodes[id].parent];
    const std::vector<FunctionId> shown = shown_functions(profile);
    for (const NamedCount& count : profile.counts) {
        Json& thread = threads.at(count.thread);
        if (count.node == 0 || thread.size() > 2) continue;
        thread.push_back(numbers.number_of[shown[profile.function_of(process[count.node])]]);
    }
    return threads;
}

bool is_of_name(char letter) { return std::isalnum(static_cast<unsigned char>(letter)) != 0 || letter == '_'; }

/// Whether the sentence has the name, and not only a longer one.
bool has_name(std::string_view sentence, std::string_view name) {
    for (std::size_t at = sentence.find(name); at != sentence.npos; at = sentence.find(name, at + 1)) {
        const std::size_t end = at + name.size();
        if ((at == 0 || !is_of_name(sentence[at - 1])) && (end == sentence.size() || !is_of_name(sentence[end])))
            return true;
    }
    return false;
}

/// The functions that the answer names: {name: [numbers]}.
Json named_json(const NamedProfile& profile, const PageNumbers& numbers, std::string_view sentence) {
    constexpr std::size_t least = 3;  // "in" and "by" are words, as are these
    constexpr std::array<std::string_view, 11> words = {"call",   "called", "code", "mostly", "system",    "names",
                                                        "waited", "idle",   "page", "faults", "interrupts"};
    const std::vector<FunctionId> shown = shown_functions(profile);
    std::set<FunctionId> used;
    for (NodeId node = 1; node < profile.nodes.size(); ++node) used.insert(shown[profile.function_of(node)]);
    Json named = Json::object();
    for (const FunctionId id : used) {
        const std::string name = in_sentence(plain_name(profile, id));
        if (name.size() >= least && std::ranges::find(words, name) == words.end() && has_name(sentence, name))
            named[name].push_back(numbers.number_of[id]);
    }
    return named;
}

}  // namespace

Result<PageData> page_data(const NamedProfile& profile, const Palette& palette, const FlameGraphOptions& options,
                           const PageSides* sides) {
    Json facts = {{"reverse", options.reverse}, {"icicle", options.icicle},  {"byModule", palette.by_module()},
                  {"own", options.own_code},    {"fold", options.fold_glue}, {"chains", !options.every_frame}};
    if (options.by_weight) facts["byName"] = !*options.by_weight;
    facts["folding"] = folding_json();
    PageNumbers numbers = add_functions(profile, palette, facts);
    if (sides != nullptr) numbers.row_of_node.clear();  // changes are of functions
    auto columns = page_columns(profile, numbers, sides);
    if (!columns) return columns.error();
    facts["shades"] = Json::array();
    for (const NamedShade& shade : palette.classes())
        facts["shades"].push_back({shade.name, shade.shade.light, shade.shade.dark});
    if (sides != nullptr) add_sides(facts, *sides, numbers, shown_functions(profile));
    if (options.source != nullptr) facts["source"] = source_json(*options.source, numbers);
    facts["threads"] = threads_json(profile, numbers);
    facts["event"] = profile.run.event;
    facts["events"] = Json::array();
    for (const NamedProfile& other : profile.others) facts["events"].push_back(other.run.event);
    facts["unit"] = counts_bytes(profile.run) ? "bytes" : counts_events(profile.run) ? profile.run.event : "";
    facts["waiting"] = counts_passed_time(profile.run);
    facts["title"] = clean_text(options.title.empty() ? default_title(profile) : options.title);
    facts["subtitle"] = clean_text(options.subtitle.empty() ? default_subtitle(profile) : options.subtitle);
    const std::string sentence = sides == nullptr ? answer(profile) : "";
    facts["answer"] = sentence;
    facts["named"] = named_json(profile, numbers, sentence);
    facts["isTime"] = weighs_nanoseconds(profile.run);
    facts["sampling"] = profile.run.period_ns;  // between two samples
    facts["bin"] = profile.bin_ns;
    if (!profile.alive.empty()) facts["alive"] = {{"bin", profile.alive_stretch_ns}, {"weights", profile.alive}};
    facts["boxes"] = columns->boxes;
    facts["depth"] = columns->depth;
    facts["gathered"] = columns->min_width;
    facts["parts"] = columns->parts;
    auto packed_facts = pack(facts.dump(-1, ' ', false, Json::error_handler_t::replace));
    if (!packed_facts) return packed_facts.error();
    auto packed_columns = pack(columns->bytes);
    if (!packed_columns) return packed_columns.error();
    return PageData{std::move(*packed_facts), std::move(*packed_columns), columns->min_width};
}

}  // namespace flameprobe
