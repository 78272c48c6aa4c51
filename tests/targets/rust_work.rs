// A multi-threaded Rust program with only the standard library, built in release mode by the tests: words are counted,
// sorted and hashed by four threads that send their results to the main thread. rust_work ROUNDS
use std::collections::{BTreeMap, HashMap};
use std::sync::mpsc;
use std::thread;

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        self.0 >> 33
    }
}

#[inline(never)]
fn make_words(random: &mut Random, count: usize) -> Vec<String> {
    (0..count).map(|_| format!("word-{}", random.next() % 5000)).collect()
}

#[inline(never)]
fn count_words(words: &[String]) -> HashMap<&str, u32> {
    let mut counts = HashMap::new();
    for word in words {
        *counts.entry(word.as_str()).or_insert(0) += 1;
    }
    counts
}

#[inline(never)]
fn rank(counts: &HashMap<&str, u32>) -> BTreeMap<u32, Vec<String>> {
    let mut ranked: BTreeMap<u32, Vec<String>> = BTreeMap::new();
    for (word, count) in counts {
        ranked.entry(*count).or_default().push(word.to_string());
    }
    for words in ranked.values_mut() {
        words.sort();
    }
    ranked
}

trait Digest {
    fn digest(&self, text: &str) -> u64;
}
struct Fnv;
impl Digest for Fnv {
    #[inline(never)]
    fn digest(&self, text: &str) -> u64 {
        text.bytes().fold(0xcbf29ce484222325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100000001b3))
    }
}

fn work(seed: u64, rounds: usize) -> u64 {
    let mut random = Random(seed);
    let digest: Box<dyn Digest> = Box::new(Fnv);
    (0..rounds)
        .map(|_| {
            let words = make_words(&mut random, 20_000);
            let ranked = rank(&count_words(&words));
            ranked.values().flatten().fold(0, |sum: u64, word| sum.wrapping_add(digest.digest(word)))
        })
        .fold(0, u64::wrapping_add)
}

fn main() {
    let rounds = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(100);
    let (sender, receiver) = mpsc::channel();
    let threads: Vec<_> = (0..4)
        .map(|seed| {
            let sender = sender.clone();
            thread::Builder::new()
                .name(format!("counter-{}", seed))
                .spawn(move || sender.send(work(seed, rounds)).unwrap())
                .unwrap()
        })
        .collect();
    drop(sender);
    let sum = receiver.iter().fold(0, u64::wrapping_add);
    for thread in threads {
        thread.join().unwrap();
    }
    println!("{:016x}", sum);
}
