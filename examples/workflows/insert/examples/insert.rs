//! Inserts keys into a tree and a hash table: insert [KEYS], ten million by default.
use std::collections::{BTreeMap, HashMap};

fn mix(value: u64) -> u64 {
    (value ^ (value >> 31)).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

#[inline(never)]
fn insert_into_tree(keys: u64) -> usize {
    let mut tree = BTreeMap::new();
    for key in 0..keys {
        tree.insert(mix(key), key);
    }
    tree.len()
}

#[inline(never)]
fn insert_into_table(keys: u64) -> usize {
    let mut table = HashMap::new();
    for key in 0..keys {
        table.insert(mix(key), key);
    }
    table.len()
}

fn main() {
    let keys = std::env::args().nth(1).map_or(10_000_000, |text| text.parse().expect("a number of keys"));
    println!("{} in the tree, {} in the table", insert_into_tree(keys), insert_into_table(keys));
}
