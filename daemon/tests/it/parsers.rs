//! Runs the checks of the fuzz targets without a fuzzer: on their seeds and on variations of the seeds.

use std::path::Path;

use farrierd::fuzzing;

use crate::support::Random;

/// Number of variations per target, unless the variable [`INPUTS`] has another one.
const VARIATIONS: usize = 3_000;
/// Environment variable with the number of variations per target, for longer runs.
const INPUTS: &str = "FARRIER_FUZZ_INPUTS";
/// Each of these checks opens connections or verifies many signatures, so it gets a tenth of the variations.
const SLOW: [&str; 2] = ["receiver_response", "gpg_key"];
/// Tokens that are meaningful to one of the parsers.
const WORDS: [&str; 45] = [
    "<Latest>",
    "</Latest>",
    "<BlockList/>",
    "&#x0;",
    "&amp;",
    "]]>",
    "\"",
    "\\u0000",
    "null",
    "-1",
    "1e9",
    "99999999999999999999",
    "%",
    "%00",
    "=",
    "&",
    ".",
    "\r\n",
    "\u{feff}",
    "[server]\n",
    "0000",
    "0004",
    "ffff",
    "refs/heads/",
    ".lock",
    "..",
    "@{",
    "/",
    "%2F",
    "%2e%2E",
    "\0",
    "transfer-encoding: chunked\r\n",
    "content-length: ",
    "HTTP/1.1 ",
    "ffffffffffffffff\r\n",
    "0\r\n\r\n",
    "Basic ",
    "W/\"",
    "*",
    "[",
    "{",
    ",",
    "\t",
    "cursor=",
    "\u{7f}",
];

#[test]
fn the_fuzz_checks_pass_for_the_seeds_and_variations_of_them() {
    let seed = Random::seed("FARRIER_SEED");
    println!("FARRIER_SEED={seed}");
    let mut random = Random::new(seed);
    let variations = std::env::var(INPUTS).map_or(VARIATIONS, |text| text.parse().expect("a number"));
    let mut total = 0;
    for (name, check) in fuzzing::CHECKS {
        let seeds = seeds(name);
        assert!(!seeds.is_empty(), "{name} has seeds");
        for seed in &seeds {
            check(seed);
        }
        let count = if SLOW.contains(&name) { variations / 10 } else { variations };
        for _ in 0..count {
            let mut input = seeds[random.below(seeds.len())].clone();
            for _ in 0..=random.below(4) {
                vary(&mut input, &seeds, &mut random);
            }
            check(&input);
        }
        println!("{name}: {} seeds and {count} variations of them", seeds.len());
        total += seeds.len() + count;
    }
    println!("{total} hostile inputs for {} parsers", fuzzing::CHECKS.len());
}

#[test]
fn every_check_has_a_fuzz_target() {
    let crate_dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz");
    let read =
        |name: &str| std::fs::read_to_string(crate_dir.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
    let (manifest, manual) = (read("Cargo.toml"), read("README.md"));
    for (name, _) in fuzzing::CHECKS {
        assert!(manifest.contains(&format!("name = \"{name}\"")), "{name} is missing in fuzz/Cargo.toml");
        assert!(manual.contains(&format!("| `{name}` |")), "{name} is missing in fuzz/README.md");
        assert!(read(&format!("fuzz_targets/{name}.rs")).contains(&format!("farrierd::fuzzing::{name}(input)")));
    }
}

/// The seed files of the target, and inputs that need the key of the test and so cannot be stored in files.
fn seeds(name: &str) -> Vec<Vec<u8>> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/seeds").join(name);
    let files = std::fs::read_dir(dir).expect("a directory").map(|entry| entry.expect("an entry").path());
    let mut seeds: Vec<Vec<u8>> = files.map(|path| std::fs::read(path).expect("a file")).collect();
    match name {
        "signed_url" => seeds.extend(fuzzing::valid_signed_urls().into_iter().map(String::into_bytes)),
        "runtime_token" => seeds.push(fuzzing::valid_runtime_token().into_bytes()),
        _ => {}
    }
    seeds
}

fn vary(input: &mut Vec<u8>, seeds: &[Vec<u8>], random: &mut Random) {
    let at = random.below(input.len() + 1);
    match random.below(6) {
        0 if at < input.len() => input[at] = random.next().to_le_bytes()[0],
        1 if at < input.len() => input[at] ^= 1 << random.below(8),
        2 => input.truncate(at),
        3 => drop(input.splice(at..at, random.of(&WORDS).bytes())),
        4 if at < input.len() => drop(input.drain(at..(at + 1 + random.below(8)).min(input.len()))),
        _ => {
            let other = &seeds[random.below(seeds.len())];
            let from = random.below(other.len() + 1);
            input.splice(at..at, other[from..].iter().take(64).copied());
        }
    }
}

#[test]
fn the_seed_files_contain_valid_signatures() {
    for address in fuzzing::valid_signed_urls() {
        let written = seeds("signed_url").iter().filter(|seed| **seed == address.as_bytes()).count();
        assert!(written >= 2, "the seeds on disk hold {address}");
    }
    let token = fuzzing::valid_runtime_token();
    assert!(seeds("runtime_token").iter().filter(|seed| **seed == token.as_bytes()).count() >= 2, "{token}");
}
