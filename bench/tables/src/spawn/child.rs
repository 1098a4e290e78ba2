//! The started child: a static program of one page that writes fourteen bytes and exits.
//!
//! Loading a dynamic program costs more than any way of starting one, and would hide the differences. This image has no
//! interpreter, no libraries and one segment. It is assembled here, so it needs no compiler on the machine:
//!
//! ```text
//!   ELF header (64 bytes) │ one PT_LOAD header (56) │ code: write(1, text, 14); exit_group(0) │ text
//!   the whole file is mapped readable and executable at 0x400000
//! ```
//!
//! Sources: System V ABI, chapter 4; the processors' manuals for the instructions.

const BASE: u64 = 0x40_0000;
const HEADER: usize = 64 + 56;

/// The output of the child.
pub(super) const TEXT: &[u8; 14] = b"Hello, world!\n";

/// The code, which ends where the text begins.
struct Processor {
    elf_machine: u16,
    code: &'static [u8],
}

const X86_64: Processor = Processor {
    elf_machine: 62,
    code: &[
        0xb8, 1, 0, 0, 0, // mov eax, 1 (write)
        0x89, 0xc7, // mov edi, eax
        0x48, 0x8d, 0x35, 16, 0, 0, 0, // lea rsi, [rip + 16]
        0xba, 14, 0, 0, 0, // mov edx, 14
        0x0f, 0x05, // syscall
        0xb8, 231, 0, 0, 0, // mov eax, 231 (exit_group)
        0x31, 0xff, // xor edi, edi
        0x0f, 0x05, // syscall
    ],
};

const AARCH64: Processor = Processor {
    elf_machine: 183,
    code: &[
        0x20, 0x00, 0x80, 0xd2, // mov x0, #1
        0xe1, 0x00, 0x00, 0x10, // adr x1, #28
        0xc2, 0x01, 0x80, 0xd2, // mov x2, #14
        0x08, 0x08, 0x80, 0xd2, // mov x8, #64 (write)
        0x01, 0x00, 0x00, 0xd4, // svc #0
        0x00, 0x00, 0x80, 0xd2, // mov x0, #0
        0xc8, 0x0b, 0x80, 0xd2, // mov x8, #94 (exit_group)
        0x01, 0x00, 0x00, 0xd4, // svc #0
    ],
};

/// The child for the processor that this program is built for, if supported.
pub(super) fn image() -> Option<Vec<u8>> {
    if cfg!(target_arch = "x86_64") {
        Some(build(&X86_64))
    } else if cfg!(target_arch = "aarch64") {
        Some(build(&AARCH64))
    } else {
        None
    }
}

fn build(processor: &Processor) -> Vec<u8> {
    let size = (HEADER + processor.code.len() + TEXT.len()) as u64;
    let mut file = vec![0x7f, b'E', b'L', b'F', 2, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    let half = |file: &mut Vec<u8>, values: &[u16]| values.iter().for_each(|v| file.extend(v.to_le_bytes()));
    let word = |file: &mut Vec<u8>, values: &[u32]| values.iter().for_each(|v| file.extend(v.to_le_bytes()));
    let long = |file: &mut Vec<u8>, values: &[u64]| values.iter().for_each(|v| file.extend(v.to_le_bytes()));
    half(&mut file, &[2, processor.elf_machine]); // ET_EXEC
    word(&mut file, &[1]); // version
    long(&mut file, &[BASE + HEADER as u64, 64, 0]); // entry, program headers, no sections
    word(&mut file, &[0]); // flags
    half(&mut file, &[64, 56, 1, 64, 0, 0]); // header sizes; one program header
    word(&mut file, &[1, 5]); // PT_LOAD, readable and executable
    long(&mut file, &[0, BASE, BASE, size, size, 0x1000]);
    file.extend(processor.code);
    file.extend(TEXT);
    file
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::scratch::Scratch;
    use std::process::Command;

    #[test]
    fn the_child_says_its_text_and_ends_well() {
        let scratch = Scratch::new().unwrap();
        let path = scratch.program("tiny", &image().unwrap()).unwrap();
        let output = Command::new(path).output().unwrap();
        assert_eq!(
            (output.status.code(), output.stdout.as_slice()),
            (Some(0), &TEXT[..])
        );
    }

    #[test]
    fn the_other_processor_s_child_runs_too() {
        let (processor, emulator) = if cfg!(target_arch = "x86_64") {
            (&AARCH64, "qemu-aarch64")
        } else {
            (&X86_64, "qemu-x86_64")
        };
        let scratch = Scratch::new().unwrap();
        let path = scratch.program("tiny", &build(processor)).unwrap();
        let output = Command::new(emulator)
            .arg(path)
            .output()
            .unwrap_or_else(|error| panic!("{emulator}: {error}; tests/install brings it"));
        assert_eq!(
            (output.status.code(), output.stdout.as_slice()),
            (Some(0), &TEXT[..])
        );
    }
}
