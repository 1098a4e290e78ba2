//! Finds sections in an object file: ELF, of 32 or 64 bits, of either byte order.
//!
//! **Invariant:** no input panics; what does not fit is as if it were not there.

/// The order of the bytes in a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    Little,
    Big,
}

impl Order {
    /// The number in the first four bytes at `at`.
    pub(super) fn u32(self, bytes: &[u8], at: usize) -> Option<u32> {
        let number = bytes.get(at..)?.first_chunk()?;
        Some(match self {
            Self::Little => u32::from_le_bytes(*number),
            Self::Big => u32::from_be_bytes(*number),
        })
    }

    fn u16(self, bytes: &[u8], at: usize) -> Option<usize> {
        let number = bytes.get(at..)?.first_chunk()?;
        Some(usize::from(match self {
            Self::Little => u16::from_le_bytes(*number),
            Self::Big => u16::from_be_bytes(*number),
        }))
    }

    fn u64(self, bytes: &[u8], at: usize) -> Option<usize> {
        let number = bytes.get(at..)?.first_chunk()?;
        let number = match self {
            Self::Little => u64::from_le_bytes(*number),
            Self::Big => u64::from_be_bytes(*number),
        };
        usize::try_from(number).ok()
    }
}

/// An object file's table of sections.
struct Table<'a> {
    file: &'a [u8],
    order: Order,
    wide: bool,
    offset: usize,
    entry: usize,
    count: usize,
    names: usize,
}

/// The order of numbers in `file`, and the contents of every section called `name`.
pub(super) fn sections<'a>(file: &'a [u8], name: &[u8]) -> Option<(Order, Vec<&'a [u8]>)> {
    let table = Table::read(file)?;
    let names = table.contents(table.names)?;
    let called = |index: &usize| {
        let start = table.name(*index)?;
        let found = names.get(start..)?.split(|byte| *byte == 0).next()?;
        (found == name).then_some(())
    };
    let found = (0..table.count).filter(|index| called(index).is_some());
    Some((
        table.order,
        found.filter_map(|index| table.contents(index)).collect(),
    ))
}

impl<'a> Table<'a> {
    fn read(file: &'a [u8]) -> Option<Self> {
        if !file.starts_with(b"\x7fELF") {
            return None;
        }
        let wide = *file.get(4)? == 2;
        let order = if *file.get(5)? == 2 {
            Order::Big
        } else {
            Order::Little
        };
        let at = |narrow, far| if wide { far } else { narrow };
        let mut table = Self {
            file,
            order,
            wide,
            offset: word(order, wide, file, at(0x20, 0x28))?,
            entry: order.u16(file, at(0x2e, 0x3a))?,
            count: order.u16(file, at(0x30, 0x3c))?,
            names: order.u16(file, at(0x32, 0x3e))?,
        };
        // More sections than fit in 16 bits are counted in the first entry.
        if table.count == 0 {
            table.count = table.field(0, 0x14, 0x20)?;
        }
        if table.names == 0xffff {
            let link = table.offset.checked_add(at(0x18, 0x28))?;
            table.names = usize::try_from(order.u32(file, link)?).ok()?;
        }
        Some(table)
    }

    fn name(&self, index: usize) -> Option<usize> {
        usize::try_from(self.order.u32(self.file, self.entry(index)?)?).ok()
    }

    fn contents(&self, index: usize) -> Option<&'a [u8]> {
        let start = self.field(index, 0x10, 0x18)?;
        let size = self.field(index, 0x14, 0x20)?;
        self.file.get(start..start.checked_add(size)?)
    }

    /// A number of the file's own width in entry `index`.
    fn field(&self, index: usize, narrow: usize, wide: usize) -> Option<usize> {
        let at = if self.wide { wide } else { narrow };
        word(
            self.order,
            self.wide,
            self.file,
            self.entry(index)?.checked_add(at)?,
        )
    }

    fn entry(&self, index: usize) -> Option<usize> {
        index.checked_mul(self.entry)?.checked_add(self.offset)
    }
}

fn word(order: Order, wide: bool, bytes: &[u8], at: usize) -> Option<usize> {
    match wide {
        true => order.u64(bytes, at),
        false => usize::try_from(order.u32(bytes, at)?).ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_very_program_has_sections() {
        let program = std::env::current_exe()
            .and_then(std::fs::read)
            .unwrap_or_default();
        let (order, found) = sections(&program, b".text").expect("an ELF file");
        assert_eq!(order == Order::Little, cfg!(target_endian = "little"));
        assert!(found.len() == 1 && !found[0].is_empty());
        assert_eq!(sections(&program, b".no such section"), Some((order, Vec::new())));
    }

    #[test]
    fn what_is_cut_off_is_not_there() {
        let program = std::env::current_exe()
            .and_then(std::fs::read)
            .unwrap_or_default();
        for length in (0..200).chain([4096, program.len() - 1]) {
            let found = sections(&program[..length], b".text").map(|(_, found)| found.len());
            assert!(found.is_none_or(|count| count <= 1), "{length}");
        }
        assert_eq!(sections(b"#!/bin/sh\n", b".text"), None);
    }
}
