// Recursions as programs have them, deeper than any copy of their stacks.
//
// usage: recursions KIND SECONDS [AMOUNT]
//        levels     AMOUNT levels of one size, then the same leaf for ever
//        varied     the same, of half as many levels to AMOUNT, as drawn
//        json       descent into a document of AMOUNT levels
//        expression an evaluator of AMOUNT parentheses by three functions
//        list       a tree that is a list of AMOUNT nodes
//        regex      std::regex on AMOUNT characters
//        fill       a flood fill of AMOUNT times AMOUNT fields
// All times are CPU time.
#include <time.h>

#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <map>
#include <random>
#include <regex>
#include <string>
#include <string_view>
#include <vector>

#ifdef __clang__
#define APART [[gnu::noinline]]
#else
#define APART [[gnu::noipa]]
#endif

namespace {

volatile std::uint64_t result;

double now() {
    timespec used{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    return static_cast<double>(used.tv_sec) + 1e-9 * static_cast<double>(used.tv_nsec);
}

APART std::uint64_t leaf(unsigned rounds) {
    std::uint64_t state = 88172645463325252;
    for (unsigned i = 0; i < rounds; ++i) state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return state;
}

APART std::uint64_t level(unsigned left, unsigned rounds) {
    volatile char bytes[512];
    bytes[left % sizeof bytes] = static_cast<char>(left);
    if (left == 0) return leaf(rounds);
    const std::uint64_t below = level(left - 1, rounds);
    result = below;
    return below + static_cast<std::uint64_t>(bytes[left % sizeof bytes]);
}

struct Value {
    double number = 0;
    std::string text{};
    std::vector<Value> array{};
    std::map<std::string, Value> object{};
};

struct JsonParser {
    const char* at;

    APART Value value() {
        if (*at == '[') return array();
        if (*at == '{') return object();
        if (*at == '"') return {.text = string()};
        char* end = nullptr;
        const double number = std::strtod(at, &end);
        at = end;
        return {.number = number};
    }
    APART std::string string() {
        std::string text;
        for (++at; *at != '"'; ++at) text += *at;
        ++at;
        return text;
    }
    APART Value array() {
        Value value;
        for (++at; *at != ']'; at += *at == ',' ? 1 : 0) value.array.push_back(this->value());
        ++at;
        return value;
    }
    APART Value object() {
        Value value;
        for (++at; *at != '}'; at += *at == ',' ? 1 : 0) {
            std::string key = string();
            ++at;
            value.object[std::move(key)] = this->value();
        }
        ++at;
        return value;
    }
};

std::string document(unsigned levels) {
    std::string text;
    for (unsigned i = 0; i < levels; ++i) text += i % 3 == 0 ? R"({"key":[1,2.5,"text"],"next":)" : R"([17,"abc",)";
    text += '1';
    for (unsigned i = levels; i-- > 0;) text += i % 3 == 0 ? R"(,"last":[1,2,3,4,5,6,7,8]})" : R"(,[9,8,7,"tail"]])";
    return text;
}

struct Evaluator {
    const char* at;

    APART std::uint64_t sum() {
        std::uint64_t value = product();
        while (*at == '+') ++at, value += product();
        return value;
    }
    APART std::uint64_t product() {
        std::uint64_t value = factor();
        while (*at == '*') ++at, value *= factor();
        return value;
    }
    APART std::uint64_t factor() {
        if (*at != '(') return leaf(static_cast<unsigned>(*at++ - '0'));
        ++at;
        const std::uint64_t value = sum();
        ++at;
        return value;
    }
};

struct Node {
    Node *left = nullptr, *right = nullptr;
};

APART std::uint64_t walk(const Node* node, unsigned depth) {
    if (node == nullptr) return leaf(40);
    return depth + walk(node->left, depth + 1) + walk(node->right, depth + 1);
}

struct Field {
    unsigned side;
    std::vector<char> filled;
};

APART void fill(Field& field, unsigned x, unsigned y) {
    if (x >= field.side || y >= field.side || field.filled[y * field.side + x] != 0) return;
    field.filled[y * field.side + x] = 1;
    result = leaf(20);
    fill(field, x + 1, y);
    fill(field, x - 1, y);
    fill(field, x, y + 1);
    fill(field, x, y - 1);
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 3) return 2;
    const std::string_view kind = argv[1];
    const double end = now() + std::atof(argv[2]);
    const auto amount = [&](unsigned usual) { return argc > 3 ? static_cast<unsigned>(std::atoi(argv[3])) : usual; };
    std::minstd_rand random(1);
    if (kind == "levels") {
        while (now() < end) result = level(amount(400), 200'000);
    } else if (kind == "varied") {
        while (now() < end)
            result = level(std::uniform_int_distribution<unsigned>(amount(400) / 2, amount(400))(random), 20'000);
    } else if (kind == "json") {
        for (const std::string text = document(amount(300)); now() < end;)
            result = JsonParser{text.c_str()}.value().object.size();
    } else if (kind == "expression") {
        std::string text;
        for (unsigned i = 0; i < amount(2000); ++i) text += "(1+2*";
        text += '7';
        for (unsigned i = 0; i < amount(2000); ++i) text += "+3*4)";
        while (now() < end) result = Evaluator{text.c_str()}.sum();
    } else if (kind == "list") {
        std::vector<Node> nodes(amount(5000));
        for (std::size_t i = 0; i + 1 < nodes.size(); ++i)
            (i % 2 != 0 ? nodes[i].left : nodes[i].right) = &nodes[i + 1];
        while (now() < end) result = walk(nodes.data(), 0);
    } else if (kind == "regex") {
        const std::regex expression("(a|b)*c|(a|ab)*d");
        const std::string text = std::string(amount(2000), 'a') + 'e';
        while (now() < end) result = std::regex_search(text, expression) ? 1 : 0;
    } else if (kind == "fill") {
        while (now() < end) {
            Field field{amount(300), std::vector<char>(std::size_t{amount(300)} * amount(300))};
            fill(field, 0, 0);
        }
    } else {
        return 2;
    }
    return 0;
}
