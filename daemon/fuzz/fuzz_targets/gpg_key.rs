#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| farrierd::fuzzing::gpg_key(input));
