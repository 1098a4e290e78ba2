//! Processes: started fast, with every guarantee. Linux 5.4 or later, x86-64 and aarch64.

mod block;
mod calls;
mod capability;
mod child;
mod clone;
mod command;
mod descriptors;
mod dumpable;
mod environment;
mod error;
mod newborn;
mod output;
mod path;
mod plan;
mod process;
mod reaper;
mod resource;
mod signals;
mod stack;
mod start;
mod stdio;
mod step;
mod strings;
mod sys;
mod zygote;

pub use capability::{Capabilities, UnknownCapability};
pub use child::Child;
#[doc(hidden)]
pub use clone::force_legacy_clone;
pub use command::Command;
pub use error::Error;
pub use output::{Capture, Excess, Output};
pub use resource::{Resource, UNLIMITED};
pub use signals::SignalSet;
pub use start::Starting;
pub use stdio::{End, Stdio};
pub use step::Step;
pub use zygote::{Requested, Rules, Zygote};
