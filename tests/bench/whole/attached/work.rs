// Work without end for attach.py: work FILE, where 8 bytes tell how many units are done.
use std::collections::{BTreeMap, HashMap};
use std::os::unix::fs::FileExt;

#[inline(never)]
fn make_words(seed: u64) -> Vec<String> {
    let mut state = seed;
    (0..400)
        .map(|_| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            format!("word-{}", (state >> 33) % 90)
        })
        .collect()
}

#[inline(never)]
fn rank(words: &[String]) -> BTreeMap<u32, Vec<&str>> {
    let mut counts: HashMap<&str, u32> = HashMap::new();
    for word in words {
        *counts.entry(word).or_insert(0) += 1;
    }
    let mut ranked: BTreeMap<u32, Vec<&str>> = BTreeMap::new();
    for (word, count) in counts {
        ranked.entry(count).or_default().push(word);
    }
    ranked
}

#[inline(never)]
fn digest(ranked: &BTreeMap<u32, Vec<&str>>) -> u64 {
    let bytes = ranked.values().flatten().flat_map(|word| word.bytes());
    bytes.fold(0xcbf29ce484222325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100000001b3))
}

fn main() {
    let path = std::env::args().nth(1).expect("a file");
    let file = std::fs::OpenOptions::new().write(true).open(path).expect("the file");
    let mut kept = 0u64;
    for done in 1u64.. {
        kept ^= digest(&rank(&make_words(done)));
        file.write_all_at(&done.to_le_bytes(), 0).expect("the count");
        if kept == 1 {
            break;
        }
    }
}
