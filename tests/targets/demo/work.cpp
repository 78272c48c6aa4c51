#include "work.hpp"

#include <zlib.h>

#include <algorithm>
#include <bit>
#include <charconv>

namespace shop {
namespace {

template <class Number>
Number parse_number(std::string_view text) {
    Number value{};
    std::from_chars(text.data(), text.data() + text.size(), value);
    return value;
}

Item parse_item(std::string_view text) {
    const auto star = text.find('*');
    const auto at = text.find('@', star == text.npos ? 0 : star);
    if (star == text.npos || at == text.npos) return {};
    return {std::string(text.substr(0, star)), parse_number<std::uint32_t>(text.substr(star + 1, at - star - 1)),
            parse_number<std::uint64_t>(text.substr(at + 1))};
}

inline std::uint64_t mix(std::uint64_t hash, std::uint64_t value) {
    hash ^= value * 0x9e3779b97f4a7c15ULL;
    return std::rotl(hash, 27) * 0xbf58476d1ce4e5b9ULL;
}

std::uint64_t hash_text(std::string_view text, std::uint64_t hash) {
    for (const char c : text) hash = mix(hash, static_cast<unsigned char>(c));
    return hash;
}

void append_line(std::string& receipt, const Item& item) {
    receipt += std::to_string(item.quantity);
    receipt += " x ";
    receipt += item.name;
    receipt += " at ";
    receipt += std::to_string(item.cents / 100) + '.' + std::to_string(item.cents % 100) + '\n';
}

/// One per thread: setting zlib up costs a quarter of a megabyte of fresh memory each time.
class Deflater {
public:
    Deflater() { ::deflateInit(&stream_, 6); }
    ~Deflater() { ::deflateEnd(&stream_); }
    Deflater(const Deflater&) = delete;
    Deflater& operator=(const Deflater&) = delete;

    std::string deflate_text(std::string& text) {
        ::deflateReset(&stream_);
        std::string packed(::deflateBound(&stream_, text.size()), '\0');
        stream_.next_in = reinterpret_cast<Bytef*>(text.data());
        stream_.avail_in = static_cast<uInt>(text.size());
        stream_.next_out = reinterpret_cast<Bytef*>(packed.data());
        stream_.avail_out = static_cast<uInt>(packed.size());
        ::deflate(&stream_, Z_FINISH);
        packed.resize(stream_.total_out);
        return packed;
    }

private:
    z_stream stream_{};
};

}  // namespace

Order parse_order(std::string_view text) {
    Order order;
    const auto bar = text.find('|');
    if (bar == text.npos) return order;
    order.customer = text.substr(0, bar);
    text.remove_prefix(bar + 1);
    while (!text.empty()) {
        const auto comma = std::min(text.find(','), text.size());
        order.items.push_back(parse_item(text.substr(0, comma)));
        text.remove_prefix(std::min(comma + 1, text.size()));
    }
    return order;
}

void rank_items(Order& order) {
    std::sort(order.items.begin(), order.items.end(), [](const Item& left, const Item& right) {
        const auto left_total = left.quantity * left.cents, right_total = right.quantity * right.cents;
        return left_total != right_total ? left_total > right_total : left.name < right.name;
    });
}

std::uint64_t sign_order(const Order& order) {
    std::uint64_t hash = hash_text(order.customer, 1);
    for (int round = 0; round < 12; ++round)
        for (const Item& item : order.items) hash = mix(mix(hash_text(item.name, hash), item.quantity), item.cents);
    return hash;
}

std::string make_receipt(const Order& order, std::uint64_t signature) {
    std::string receipt = "Receipt for " + order.customer + '\n';
    for (const Item& item : order.items) append_line(receipt, item);
    receipt += "signed " + std::to_string(signature) + '\n';
    thread_local Deflater deflater;
    return deflater.deflate_text(receipt);
}

std::string checkout(std::string_view request) {
    Order order = parse_order(request);
    if (order.items.empty()) return "malformed";
    rank_items(order);
    return make_receipt(order, sign_order(order));
}

}  // namespace shop
