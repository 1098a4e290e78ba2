//! Sizes as people write them: `1GiB`, `512MB`, `64m`, plain bytes, `25%` of the memory there is.

/// A size, absolute or relative to the memory that this process may use.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Size {
    /// So many bytes.
    Bytes(u64),
    /// So many percent of the memory that the control group or the machine allows.
    Percent(f64),
}

/// Reads a size. A unit is decimal with `B` (`kB`, `MB`, …), binary with `iB` or alone (`KiB`, `k`, `m`).
pub fn parse_size(_text: &str) -> Result<Size, String> {
    unimplemented!()
}
