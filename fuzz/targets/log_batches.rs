#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| hikyaku_fuzz::log_batches(input));
