//! Names of capabilities, and sets of them.

use std::fmt;
use std::str::FromStr;

/// A set of capabilities: bit `n` is the kernel's capability `n`.
///
/// ```
/// use spawn::Capabilities;
/// let set: Capabilities = "net_bind_service,net_raw".parse().unwrap();
/// assert_eq!(set, Capabilities::NET_BIND_SERVICE.with(Capabilities::NET_RAW));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Capabilities(u64);

macro_rules! capabilities {
    ($($number:literal $name:ident $text:literal;)*) => {
        impl Capabilities {
            $(#[doc = concat!("`CAP_", stringify!($name), "`, of capabilities(7).")]
            pub const $name: Capabilities = Capabilities(1 << $number);)*
        }

        const NAMES: &[&str] = &[$($text),*];
    };
}

capabilities! {
    0 CHOWN "chown"; 1 DAC_OVERRIDE "dac_override"; 2 DAC_READ_SEARCH "dac_read_search"; 3 FOWNER "fowner";
    4 FSETID "fsetid"; 5 KILL "kill"; 6 SETGID "setgid"; 7 SETUID "setuid"; 8 SETPCAP "setpcap";
    9 LINUX_IMMUTABLE "linux_immutable"; 10 NET_BIND_SERVICE "net_bind_service"; 11 NET_BROADCAST "net_broadcast";
    12 NET_ADMIN "net_admin"; 13 NET_RAW "net_raw"; 14 IPC_LOCK "ipc_lock"; 15 IPC_OWNER "ipc_owner";
    16 SYS_MODULE "sys_module"; 17 SYS_RAWIO "sys_rawio"; 18 SYS_CHROOT "sys_chroot"; 19 SYS_PTRACE "sys_ptrace";
    20 SYS_PACCT "sys_pacct"; 21 SYS_ADMIN "sys_admin"; 22 SYS_BOOT "sys_boot"; 23 SYS_NICE "sys_nice";
    24 SYS_RESOURCE "sys_resource"; 25 SYS_TIME "sys_time"; 26 SYS_TTY_CONFIG "sys_tty_config"; 27 MKNOD "mknod";
    28 LEASE "lease"; 29 AUDIT_WRITE "audit_write"; 30 AUDIT_CONTROL "audit_control"; 31 SETFCAP "setfcap";
    32 MAC_OVERRIDE "mac_override"; 33 MAC_ADMIN "mac_admin"; 34 SYSLOG "syslog"; 35 WAKE_ALARM "wake_alarm";
    36 BLOCK_SUSPEND "block_suspend"; 37 AUDIT_READ "audit_read"; 38 PERFMON "perfmon"; 39 BPF "bpf";
    40 CHECKPOINT_RESTORE "checkpoint_restore";
}

impl Capabilities {
    /// None.
    pub const NONE: Capabilities = Capabilities(0);

    /// Those of both sets.
    #[must_use]
    pub const fn with(self, other: Capabilities) -> Capabilities {
        Capabilities(self.0 | other.0)
    }

    /// The bits.
    #[must_use]
    pub const fn bits(self) -> u64 {
        self.0
    }

    /// The set with these bits.
    #[must_use]
    pub const fn from_bits(bits: u64) -> Capabilities {
        Capabilities(bits)
    }

    /// The kernel's numbers of those in the set.
    pub(crate) fn numbers(self) -> impl Iterator<Item = usize> {
        (0..64).filter(move |number| self.0 >> number & 1 != 0)
    }
}

/// Text that names no capability.
#[derive(Debug, thiserror::Error)]
#[error("`{name}` is no capability; names are those of capabilities(7), such as net_bind_service")]
pub struct UnknownCapability {
    name: String,
}

impl FromStr for Capabilities {
    type Err = UnknownCapability;

    /// Reads names with commas between them, with or without `cap_` before them, in either case.
    fn from_str(text: &str) -> Result<Capabilities, UnknownCapability> {
        let names = text.split(',').map(str::trim).filter(|name| !name.is_empty());
        names.into_iter().try_fold(Capabilities::NONE, |set, name| {
            let lower = name.to_ascii_lowercase();
            let bare = lower.strip_prefix("cap_").unwrap_or(&lower);
            let number = NAMES.iter().position(|known| *known == bare);
            let number = number.ok_or_else(|| UnknownCapability {
                name: name.to_owned(),
            })?;
            Ok(set.with(Capabilities(1 << number)))
        })
    }
}

impl fmt::Debug for Capabilities {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self
            .numbers()
            .map(|number| NAMES.get(number).unwrap_or(&"unknown"));
        f.debug_set().entries(names).finish()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn names_stand_at_their_numbers() {
        assert_eq!(
            "cap_checkpoint_restore".parse::<Capabilities>().unwrap().bits(),
            1 << 40
        );
        assert_eq!(
            "CAP_CHOWN, bpf".parse::<Capabilities>().unwrap().bits(),
            1 | 1 << 39
        );
        assert_eq!(NAMES.len(), 41);
        assert!("net_bind".parse::<Capabilities>().is_err());
    }
}
