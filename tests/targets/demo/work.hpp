// The demo shop's work on one request: parse, check, rank, hash, compress. Real enough to be worth a flame graph.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace shop {

struct Item {
    std::string name;
    std::uint32_t quantity = 0;
    std::uint64_t cents = 0;
};

struct Order {
    std::string customer;
    std::vector<Item> items;
};

/// `customer|name*quantity@cents,name*quantity@cents,...`; an order without items is malformed.
Order parse_order(std::string_view text);
/// The most expensive lines first.
void rank_items(Order& order);
/// 64 bits over the order, many rounds, as a stand-in for a signature.
std::uint64_t sign_order(const Order& order);
/// A receipt, deflated.
std::string make_receipt(const Order& order, std::uint64_t signature);
/// All of the above.
std::string checkout(std::string_view request);

}  // namespace shop
