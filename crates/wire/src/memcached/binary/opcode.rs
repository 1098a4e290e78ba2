//! Opcodes.

/// An opcode as sent, known or not. Responses repeat it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Opcode(pub u8);

impl Opcode {
    /// Reads.
    pub const GET: Opcode = Opcode(0x00);
    /// Stores.
    pub const SET: Opcode = Opcode(0x01);
    /// Stores if the key is absent.
    pub const ADD: Opcode = Opcode(0x02);
    /// Stores if the key is present.
    pub const REPLACE: Opcode = Opcode(0x03);
    /// Removes.
    pub const DELETE: Opcode = Opcode(0x04);
    /// Adds to a number.
    pub const INCREMENT: Opcode = Opcode(0x05);
    /// Subtracts from a number.
    pub const DECREMENT: Opcode = Opcode(0x06);
    /// Ends the connection.
    pub const QUIT: Opcode = Opcode(0x07);
    /// Removes everything.
    pub const FLUSH: Opcode = Opcode(0x08);
    /// Reads; a miss has no response.
    pub const GETQ: Opcode = Opcode(0x09);
    /// Does nothing; it has a response.
    pub const NOOP: Opcode = Opcode(0x0a);
    /// Returns the version.
    pub const VERSION: Opcode = Opcode(0x0b);
    /// Reads, and returns the key too.
    pub const GETK: Opcode = Opcode(0x0c);
    /// Reads, and returns the key too; a miss has no response.
    pub const GETKQ: Opcode = Opcode(0x0d);
    /// Adds to the end of a value.
    pub const APPEND: Opcode = Opcode(0x0e);
    /// Adds to the beginning of a value.
    pub const PREPEND: Opcode = Opcode(0x0f);
    /// Returns statistics.
    pub const STAT: Opcode = Opcode(0x10);
    /// [`Opcode::SET`]; success has no response.
    pub const SETQ: Opcode = Opcode(0x11);
    /// [`Opcode::ADD`]; success has no response.
    pub const ADDQ: Opcode = Opcode(0x12);
    /// [`Opcode::REPLACE`]; success has no response.
    pub const REPLACEQ: Opcode = Opcode(0x13);
    /// [`Opcode::DELETE`]; success has no response.
    pub const DELETEQ: Opcode = Opcode(0x14);
    /// [`Opcode::INCREMENT`]; success has no response.
    pub const INCREMENTQ: Opcode = Opcode(0x15);
    /// [`Opcode::DECREMENT`]; success has no response.
    pub const DECREMENTQ: Opcode = Opcode(0x16);
    /// [`Opcode::QUIT`] without a response.
    pub const QUITQ: Opcode = Opcode(0x17);
    /// [`Opcode::FLUSH`]; success has no response.
    pub const FLUSHQ: Opcode = Opcode(0x18);
    /// [`Opcode::APPEND`]; success has no response.
    pub const APPENDQ: Opcode = Opcode(0x19);
    /// [`Opcode::PREPEND`]; success has no response.
    pub const PREPENDQ: Opcode = Opcode(0x1a);
    /// Sets a new expiry.
    pub const TOUCH: Opcode = Opcode(0x1c);
    /// Reads and sets a new expiry.
    pub const GAT: Opcode = Opcode(0x1d);
    /// [`Opcode::GAT`]; a miss has no response.
    pub const GATQ: Opcode = Opcode(0x1e);
    /// Lists the authentication mechanisms.
    pub const SASL_LIST_MECHS: Opcode = Opcode(0x20);
    /// Begins an authentication.
    pub const SASL_AUTH: Opcode = Opcode(0x21);
    /// Continues an authentication.
    pub const SASL_STEP: Opcode = Opcode(0x22);
    /// [`Opcode::GAT`] that returns the key too.
    pub const GATK: Opcode = Opcode(0x23);
    /// [`Opcode::GATK`]; a miss has no response.
    pub const GATKQ: Opcode = Opcode(0x24);

    /// Returns true if the expected outcome has no response: a miss for opcodes that read, success for the others.
    #[inline]
    pub fn quiet(self) -> bool {
        const QUIET: u64 = {
            let quiet = [
                0x09, 0x0d, 0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18, 0x19, 0x1a, 0x1e, 0x24u8,
            ];
            let mut bits = 0u64;
            let mut at = 0;
            while at < quiet.len() {
                bits |= 1 << quiet[at];
                at += 1;
            }
            bits
        };
        self.0 < 64 && QUIET >> self.0 & 1 == 1
    }
}
